/**
 * A cache of packages of a test's own, which it may alter.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Copies Deno's cache of npm packages to a folder for `DENO_DIR`, by links where that can be. A file
 * must be replaced there, not written to. Returns the folder of the packages.
 */
export function linkPackages(cache: string): string {
  const bundler = fileURLToPath(import.meta.resolve("esbuild"));
  const [, npm = "", registry = ""] = /^(.*\/npm)\/([^/]+)\/esbuild\//.exec(bundler) ?? [];
  Deno.mkdirSync(cache, { recursive: true });
  const target = join(cache, "npm");
  const copied = ["-al", "-r"].some((flag) =>
    new Deno.Command("cp", { args: [flag, npm, target], stderr: "null" }).outputSync().success
  );
  if (!copied) throw new Error(`Cannot copy ${npm}`);
  return join(target, registry);
}

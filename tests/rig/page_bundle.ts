/**
 * Modules of this project as a browser loads them: each entry with what it imports of the project,
 * and the packages as modules that several entries share. Packages are bundled as those of stages are.
 *
 * @module
 */
import type { OnResolveArgs, OnResolveResult, Plugin } from "esbuild";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import {
  bundlePackages,
  LOADERS,
  moduleName,
  type PackageImport,
} from "../../pipeline/key/package_bundle.ts";
import { Packages } from "../../pipeline/key/packages.ts";
import { SourceFiles } from "../../pipeline/key/source_files.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Modules by their path on the server: `/gpt_test.js`, `/packages/…`. */
export type PageModules = ReadonlyMap<string, string | Uint8Array<ArrayBuffer>>;

/** Bundles modules of the project, absolute paths with names of their own. */
export async function bundleForPage(entryPoints: readonly string[]): Promise<PageModules> {
  const esbuild = await import("esbuild");
  const files = new SourceFiles(), packages = new Packages(ROOT, files);
  const imported = new Map<string, PackageImport>();
  const resolve = ({ path, with: { type } }: OnResolveArgs): OnResolveResult | undefined => {
    const specifier = packages.specifier(path);
    if (specifier === undefined) return undefined;
    const entry = { specifier, type }, name = moduleName(entry);
    imported.set(name, entry);
    const module = `/packages/${name}`;
    return type === undefined
      ? { path: module, external: true }
      : { path: module, namespace: "package" };
  };
  const plugin: Plugin = {
    name: "packages",
    setup(build) {
      build.onResolve({ filter: /^\/packages\// }, ({ path }) => ({ path, external: true }));
      build.onResolve({ filter: /^[^./]/ }, resolve);
      // The import's attributes are the package module's business.
      build.onLoad({ filter: /.*/, namespace: "package" }, ({ path }) => ({
        contents: `export { default } from ${JSON.stringify(path)};`,
      }));
    },
  };
  const { outputFiles } = await esbuild.build({
    entryPoints: [...entryPoints],
    outdir: "/",
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "esnext",
    loader: { ".ts": LOADERS[".ts"]!, ".json": "json" },
    tsconfigRaw: "{}",
    write: false,
    logLevel: "silent",
    plugins: [plugin],
  });
  const { modules } = await bundlePackages([...imported.values()], { root: ROOT, packages, files });
  return new Map<string, string | Uint8Array<ArrayBuffer>>([
    ...outputFiles.map(({ path, text }) => [`/${basename(path)}`, text] as const),
    ...[...modules].map(([name, code]) => [`/packages/${name}`, code] as const),
  ]);
}

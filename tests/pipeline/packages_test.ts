import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { bundlePackages, type PackageBundle } from "../../pipeline/key/package_bundle.ts";
import { Packages } from "../../pipeline/key/packages.ts";
import { SourceFiles } from "../../pipeline/key/source_files.ts";
import { toyProject } from "../rig/project.ts";

async function bundle(root: string, specifiers: readonly string[]): Promise<PackageBundle> {
  const files = new SourceFiles();
  const { stop } = await import("esbuild");
  try {
    const imported = specifiers.map((specifier) => ({ specifier }));
    return await bundlePackages(imported, new Packages(root, files), files);
  } finally {
    await stop();
  }
}

const text = ({ modules }: PackageBundle) =>
  [...modules].map(([name, content]) => `${name}\n${new TextDecoder().decode(content)}`).join("\n");

Deno.test("packages become modules that import nothing but Node's own", async () => {
  using project = toyProject();
  const made = await bundle(project.root, ["npm:tar-stream@3.2.2", "npm:hyparquet@1.31.5"]);
  const imports = [...text(made).matchAll(/(?:from|import)\s*"([^"]+)"/g)].map(([, name]) => name!);
  assert(imports.length > 0);
  const outside = imports.filter((name) => !/^(node:[a-z_/]+|\.\/[\w@.+-]+\.mjs)$/.test(name));
  assertEquals(outside, []);
  assert("npm:tar-stream@3.2.2" in made.sources);
  // It is not imported by the project: tar-stream needs it.
  assert("npm:streamx@2.28.1" in made.sources);
});

Deno.test("a CommonJS package has the names and the default that Deno gives it", async () => {
  using project = toyProject();
  const made = await bundle(project.root, ["npm:tar-stream@3.2.2"]);
  const folder = project.path("modules");
  Deno.mkdirSync(folder);
  for (const [name, content] of made.modules) Deno.writeFileSync(join(folder, name), content);
  const ours = await import(join(folder, "tar-stream@3.2.2.mjs"));
  const theirs = await import("tar-stream");
  const shape = (module: Record<string, unknown>) =>
    Object.keys(module).filter((name) => name !== "module.exports").sort()
      .map((name) => [name, typeof module[name]]);
  assertEquals(shape(ours), shape(theirs));
  assertEquals(Object.keys(ours.default).sort(), Object.keys(theirs.default).sort());
});

Deno.test("the bundle of packages is the same each time and in every folder", async () => {
  using one = toyProject();
  using other = toyProject();
  const specifiers = ["npm:vega@6.4.0", "npm:tar-stream@3.2.2"];
  assertEquals(
    text(await bundle(one.root, specifiers)),
    text(await bundle(other.root, specifiers)),
  );
});

Deno.test("a tsconfig or package.json of a parent folder changes no bundle", async () => {
  using project = toyProject();
  const specifiers = ["npm:hyparquet@1.31.5"];
  const before = text(await bundle(project.root, specifiers));
  project.write("tsconfig.json", '{"compilerOptions":{"jsx":"react","target":"es5","paths":{}}}');
  project.write("package.json", '{"type":"commonjs","sideEffects":false,"browser":{"fs":false}}');
  assertEquals(text(await bundle(project.root, specifiers)), before);
});

Deno.test("a package that is not pinned is refused, with what to do", async () => {
  using project = toyProject();
  const failed = await bundle(project.root, ["npm:left-pad@1"]).catch((error) => error);
  assertStringIncludes(failed.message, "npm:left-pad@1");
  assertStringIncludes(failed.message, "deno install");
});

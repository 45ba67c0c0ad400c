import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { join } from "node:path";
import { bundlePackages, type PackageBundle } from "../../pipeline/key/package_bundle.ts";
import { Packages } from "../../pipeline/key/packages.ts";
import { SourceFiles } from "../../pipeline/key/source_files.ts";
import { sha256 } from "../../pipeline/key/hash.ts";
import { toyProject, writeStage } from "../rig/project.ts";
import { linkPackages } from "../rig/package_cache.ts";

async function bundle(root: string, specifiers: readonly string[]): Promise<PackageBundle> {
  const files = new SourceFiles();
  const { stop } = await import("esbuild");
  try {
    const imported = specifiers.map((specifier) => ({ specifier }));
    return await bundlePackages(imported, { root, packages: new Packages(root, files), files });
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

const MODULES: Readonly<Record<string, string>> = {
  "/@toy/outer/1.0.0/mod.ts": `import { inner } from "jsr:@toy/inner@^1";
import { two } from "./two.ts";
export function outer(): number {
  return inner + two;
}
`,
  "/@toy/outer/1.0.0/two.ts": "export const two: number = 2;\n",
  "/@toy/inner/1.2.0/mod.ts": "export const inner: number = 40;\n",
};

/** A registry that speaks JSR's protocol, on loopback. */
function registry(modules: Readonly<Record<string, string>>): Deno.HttpServer<Deno.NetAddr> {
  const meta = (name: string, version: string) => {
    const prefix = `/@toy/${name}/${version}`;
    const own = Object.entries(modules).filter(([path]) => path.startsWith(`${prefix}/`));
    const manifest = own.map(([path, text]) =>
      [path.slice(prefix.length), {
        size: text.length,
        checksum: `sha256-${sha256(text)}`,
      }] as const
    );
    return {
      [`/@toy/${name}/meta.json`]: JSON.stringify({
        ...{ scope: "toy", name, latest: version, versions: { [version]: {} } },
      }),
      [`${prefix}_meta.json`]: JSON.stringify({
        exports: { ".": "./mod.ts" },
        manifest: Object.fromEntries(manifest),
      }),
    };
  };
  const all = { ...modules, ...meta("outer", "1.0.0"), ...meta("inner", "1.2.0") };
  return Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, ({ url }) => {
    const text = all[new URL(url).pathname as keyof typeof all];
    return new Response(text ?? "none", { status: text === undefined ? 404 : 200 });
  });
}

Deno.test("a JSR package is bundled with those that it needs, and each one's code counts", async () => {
  const made: string[] = [];
  for (const inner of ["40", "41"]) {
    const path = "/@toy/inner/1.2.0/mod.ts";
    await using server = registry({
      ...MODULES,
      [path]: `export const inner: number = ${inner};\n`,
    });
    using project = toyProject();
    writeStage(project, {
      name: "word",
      declaration: `
const params = z.strictObject({ text: z.string() });
export type Params = z.infer<typeof params>;
export const word = defineStage({
  name: "word", params, inputs: {}, outputs: { text: { kind: "file", exactness: "exact" } },
});`,
      run: `
import { outer } from "@toy/outer";
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("text"), String(outer()));
  return Promise.resolve();
}`,
    });
    const config = JSON.parse(project.read("deno.json"));
    config.imports["@toy/outer"] = "jsr:@toy/outer@1";
    project.write("deno.json", JSON.stringify(config));
    const env = {
      JSR_URL: `http://127.0.0.1:${server.addr.port}/`,
      DENO_DIR: project.path("cache"),
    };
    linkPackages(project.path("cache"));
    const installed = await new Deno.Command(Deno.execPath(), {
      args: ["cache", "stages/word.run.ts"],
      ...{ cwd: project.root, env, stdout: "null", stderr: "piped" },
    }).output();
    assert(installed.success, new TextDecoder().decode(installed.stderr));
    const ended = await project.run(["reproduce", "--only", "word/ann", "--json"], env);
    assertEquals(ended.code, 0, ended.stdout + ended.stderr);
    const traced = await project.run(["trace", "word/ann", "--json"], env);
    const trace = JSON.parse(traced.stdout);
    assert("jsr:@toy/outer@1.0.0" in trace.sources && "jsr:@toy/inner@1.2.0" in trace.sources);
    assertEquals(trace.outputs.text.sha256, sha256(String(Number(inner) + 2)));
    made.push(trace.ingredients.packages);
  }
  assertNotEquals(made[0], made[1]);
});

import { assert, assertEquals, assertNotEquals, assertRejects } from "@std/assert";
import { ConfigError } from "../../pipeline/errors.ts";
import { bundleStage } from "../../pipeline/key/bundle.ts";
import { Packages } from "../../pipeline/key/packages.ts";
import { SourceFiles } from "../../pipeline/key/source_files.ts";
import { type TestProject, toyProject } from "../rig/project.ts";

async function fingerprint(project: TestProject, stage: string): Promise<string> {
  const files = new SourceFiles();
  const packages = new Packages(project.root, files);
  return (await bundleStage(project.root, stage, { packages, files })).code;
}

const BODY = (names: readonly string[]) => {
  const [grow, value, factor, total, index, cell, entry, helper] = names;
  return `
    export function ${grow}(${value}: number): number {
      const ${factor} = 3;
      let ${total} = 0;
      for (let ${index} = 0; ${index} < ${value}; ${index}++) {
        const ${cell} = { at: ${index}, value: ${value} };
        ${total} += ${factor} * ${cell}.at + ${helper}([${cell}.value]);
      }
      return ${total};
    }
    function ${helper}(${entry}: number[]): number {
      return ${entry}.map((${value}) => ${value} + 1).length;
    }
    export { ${grow} as grow };
    export const sum = String;
  `;
};

Deno.test("no renaming of functions and locals changes a fingerprint", async () => {
  using project = toyProject();
  const found = new Set<string>();
  const letters = "etaoinshrdlcumwfgypbvkjxqz";
  for (let n = 0; n < 40; n++) {
    // Names of all lengths and letters: the pattern in which short names are given out must not care.
    const names = Array.from(
      { length: 8 },
      (_, index) => `${letters[(n * 7 + index) % 26]!.repeat(1 + (n * index) % 9)}_${index}`,
    );
    project.write(
      "lib/grow.ts",
      BODY(names).replace(/export \{ (\w+) as grow \};/, "export { $1 as grow };"),
    );
    found.add(await fingerprint(project, "steps"));
  }
  assertEquals(found.size, 1);
});

Deno.test("a comment and an unused neighbour leave a fingerprint; a constant does not", async () => {
  using project = toyProject();
  const before = await fingerprint(project, "steps");
  project.edit("lib/grow.ts", "/** One step. */", "// Zigzag quizzes vex jumbled words");
  project.edit("lib/grow.ts", "return 1;", "return 12345 * Math.PI;");
  project.write("lib/grow.ts", `${project.read("lib/grow.ts")}\nexport const zzz = [1, 2, 3];\n`);
  assertEquals(await fingerprint(project, "steps"), before);
  project.edit("lib/grow.ts", "const factor = 3", "const factor = 5");
  assertNotEquals(await fingerprint(project, "steps"), before);
});

Deno.test("a fingerprint does not depend on the folder a project is in", async () => {
  using one = toyProject();
  using other = toyProject();
  for (const stage of ["word", "steps", "gather"]) {
    assertEquals(await fingerprint(one, stage), await fingerprint(other, stage));
  }
});

Deno.test("decorators and accessors compute in a bundle what Deno makes of them", async () => {
  using project = toyProject();
  project.write(
    "stages/word.run.ts",
    `
    function twice(get: ClassAccessorDecoratorTarget<Pair, number>) {
      return { get(this: Pair) { return 2 * get.get.call(this); } };
    }
    function loud<T>(method: () => T, { name }: ClassMethodDecoratorContext) {
      return function (this: Pair) { return String(name) + method.call(this); };
    }
    class Pair {
      @twice accessor one = 1;
      accessor two = 2;
      @loud sum() { return this.one + this.two; }
    }
    export function run() {
      const names = Object.getOwnPropertyNames(Pair.prototype).sort();
      return [new Pair().sum(), Object.keys(new Pair()).length, names.join(" ")].join(", ");
    }`,
  );
  const files = new SourceFiles();
  const packages = new Packages(project.root, files);
  const { code } = await bundleStage(project.root, "word", { packages, files });
  const path = project.path("stages/bundle.mjs");
  Deno.writeTextFileSync(path, code);
  const [source, bundle] = await Promise.all(
    [project.path("stages/word.run.ts"), path].map((path) => import(`file://${path}`)),
  );
  assertEquals(source.run(), "sum4, 0, constructor one sum two");
  assertEquals(bundle.run(), source.run());
});

/** What bundling a stage that imports something fails with; `undefined` if it does not. */
async function refusal(project: TestProject, statement: string): Promise<string | undefined> {
  project.write(
    "stages/word.run.ts",
    `${statement}\nexport const run = () => Promise.resolve(it);\n`,
  );
  try {
    await fingerprint(project, "word");
    return undefined;
  } catch (error) {
    assert(error instanceof ConfigError, String(error));
    return error.message;
  }
}

Deno.test("what a stage's module may be is bundled, all else is refused with what to do", async () => {
  using project = toyProject();
  const typed = "export const it: number = 1;";
  const files: [name: string, text: string][] = [
    ["a.ts", typed],
    ["a.mts", typed],
    ["a.js", "export const it = 1;"],
    ["a.mjs", "export const it = 1;"],
    ["a.cjs", "exports.it = 1;"],
    ["a.d.json", '{ "it": 1 }'],
    ["a.tsx", typed],
    ["a.jsx", typed],
    ["a.cts", typed],
    ["a.wasm", "\0asm"],
    ["a.css", "p {}"],
    ["a", typed],
  ];
  for (const [name, text] of files) project.write(`lib/${name}`, text);
  for (const [name] of files.slice(0, 6)) {
    assertEquals(await refusal(project, `import { it } from "../lib/${name}";`), undefined, name);
  }
  const rule = (name: string, found: string) =>
    'Cannot take the fingerprint of stage "word": its code must bundle, imports being literal\n' +
    `stages/word.run.ts:1:20: "lib/${name}" must be one of .ts .mts .js .mjs .cjs .json, found ` +
    `"${found}"; `;
  for (const name of ["a.tsx", "a.jsx", "a.cts", "a.css", "a"]) {
    const found = name === "a" ? "" : name.slice(1);
    assertEquals(
      await refusal(project, `import { it } from "../lib/${name}";`),
      `${rule(name, found)}rename it, or import what is no code with { type: "text" } or ` +
        `{ type: "bytes" }\n    import { it } from "../lib/${name}";`,
    );
  }
  assertEquals(
    await refusal(project, 'import { it } from "../lib/a.wasm";'),
    `${rule("a.wasm", ".wasm")}import it with { type: "bytes" } and compile it with new ` +
      'WebAssembly.Module\n    import { it } from "../lib/a.wasm";',
  );
  for (const type of ["text", "bytes"]) {
    const statement = `import it from "../lib/a.wasm" with { type: "${type}" };`;
    assertEquals(await refusal(project, statement), undefined, type);
  }
});

Deno.test("entries of the import map that end with a slash mean what they mean to Deno", async () => {
  using project = toyProject();
  project.edit(
    "deno.json",
    '"imports":{',
    '"imports":{"own/":"./lib/","own/deep/":"./lib/below/","own/one.ts":"./lib/other.ts",' +
      '"parquet/":"npm:/hyparquet@1.31.5/src/",',
  );
  const module = (value: number) => `export const it = ${value};`;
  project.write("lib/one.ts", module(1));
  project.write("lib/other.ts", module(2));
  project.write("lib/two.ts", module(3));
  project.write("lib/below/two.ts", module(4));
  const imports = ["own/one.ts", "own/two.ts", "own/deep/two.ts", "parquet/snappy.js"];
  project.write(
    "stages/word.run.ts",
    imports.map((name, n) => `import * as n${n} from "${name}";`).join("\n") +
      "\nexport const run = () => [n0.it, n1.it, n2.it, typeof n3.snappyUncompress].join();\n",
  );
  const files = new SourceFiles();
  const packages = new Packages(project.root, files);
  const { imported, sources } = await bundleStage(project.root, "word", { packages, files });
  assertEquals(Object.keys(sources), [
    ...["lib/below/two.ts", "lib/other.ts", "lib/two.ts", "stages/word.run.ts"],
  ]);
  assertEquals(imported, [{ specifier: "npm:/hyparquet@1.31.5/src/snappy.js", type: undefined }]);
  // The same by Deno itself.
  const ran = await new Deno.Command(Deno.execPath(), {
    args: ["eval", 'import { run } from "./stages/word.run.ts"; console.log(run());'],
    cwd: project.root,
  }).output();
  assertEquals(new TextDecoder().decode(ran.stdout), "2,3,4,function\n");
});

Deno.test("a configuration that has tests load other modules than stages is refused", async () => {
  using project = toyProject();
  const original = project.read("deno.json");
  const refused = async (text: string, message: string) => {
    project.write("deno.json", text);
    await assertRejects(() => fingerprint(project, "word"), ConfigError, message);
  };
  const config = JSON.parse(original);
  for (const field of ["scopes", "links", "patch"]) {
    await refused(JSON.stringify({ ...config, [field]: {} }), `it must have no "${field}"`);
  }
  const mapped = (imports: unknown) => JSON.stringify({ ...config, imports });
  await refused(mapped({ "own/": "./lib" }), 'maps "own/" to must be text that ends with "/" too');
  await refused(mapped({ own: 1 }), 'maps "own" to must be text, found 1');
  for (const name of ["./lib/grow.ts", "/lib/grow.ts", "npm:zod@4.6.7", "node:fs"]) {
    await refused(mapped({ [name]: "./lib/a.ts" }), `must be a bare name, found "${name}"`);
  }
  await refused(`// ours\n${original}`, "deno.json: it must be JSON, without comments, found");
  Deno.renameSync(project.path("deno.json"), project.path("deno.jsonc"));
  const { code, stderr } = await project.run(["plan"]);
  assertEquals(code, 2);
  assertEquals(
    stderr,
    `Cannot read ${project.path("deno.jsonc")}: the imports of a project with stages must be in ` +
      "deno.json, as JSON without comments; rename the file and remove its comments\n",
  );
});

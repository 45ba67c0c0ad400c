import { assertEquals, assertNotEquals } from "@std/assert";
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

/**
 * A small project in which every ingredient of a key can be moved by an edit.
 *
 * @module
 */
import { linkPackages } from "../../rig/package_cache.ts";
import { mainText, type TestProject, toyProject, writeStage } from "../../rig/project.ts";

const EXPERIMENT = `experiment: toy
define: { rate: 3 }
axes:
  name:
    ann: { word: { text: Ann } }
    bob: { word: { text: Bob } }
grid:
  name: [ann, bob]
  seed: [2, 10]
stages:
  word: { each: [name] }
  compute:
    each: [name, seed]
    inputs: { text: word.text }
    params:
      seed: $seed
      rate: $rate
      options: { first: 1, second: [1, 2], third: "1" }
  gather:
    inputs: { values: compute.value }
    params: { title: All }
  timed:
    each: [name]
    inputs: { text: word.text }
profiles:
  smoke: {}
`;

const COMPUTE = `
import { tableauColors } from "../lib/colors.ts";
import { grow, LIMIT } from "../lib/grow.ts";
import table from "../lib/table.json" with { type: "json" };
import { extract } from "tar-stream";
/** Computes. */
export function run(context: StageContext<Params>): Promise<void> {
  const { seed, rate } = context.params;
  const start = seed * rate;
  if (start > LIMIT) throw new RangeError("too large");
  const value = grow(start) + table.offset + extract.name.length;
  Deno.writeTextFileSync(context.output("value"), String(value));
  return Promise.resolve();
}
export const other = () => tableauColors;`;

/** The instances of a stage. */
export const INSTANCES = {
  word: ["word/ann", "word/bob"],
  compute: ["compute/ann/10", "compute/ann/2", "compute/bob/10", "compute/bob/2"],
  gather: ["gather"],
  timed: ["timed/ann", "timed/bob"],
} as const;

/** Makes the project, with a package cache of its own that can be altered. */
export function soundnessProject(): TestProject & { readonly packages: string } {
  const project = toyProject();
  for (const name of ["steps", "word", "gather"]) {
    for (const kind of ["ts", "run.ts"]) Deno.removeSync(project.path(`stages/${name}.${kind}`));
  }
  writeStage(project, {
    name: "word",
    declaration: `
const params = z.strictObject({ text: z.string(), style: z.string().default("plain") });
export type Params = z.infer<typeof params>;
export const word = defineStage({
  name: "word", params, inputs: {}, outputs: { text: { kind: "file", exactness: "exact" } },
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("text"), context.params.text.toLowerCase());
  return Promise.resolve();
}`,
  });
  writeStage(project, {
    name: "compute",
    declaration: `
const params = z.strictObject({
  seed: z.int().min(0).describe("Fixes the draws"),
  rate: z.number().default(1),
  note: z.string().default("none"),
  options: z.unknown(),
  delay: z.number().default(0),
});
export type Params = z.infer<typeof params>;
export const compute = defineStage({
  name: "compute", params, inputs: { text: {} },
  outputs: { value: { kind: "file", exactness: "numeric", publish: () => "value.txt" } },
  numeric: true, operational: ["delay"],
});`.replace(', publish: () => "value.txt"', ""),
    run: COMPUTE,
  });
  writeStage(project, {
    name: "gather",
    declaration: `
const params = z.strictObject({ title: z.string() });
export type Params = z.infer<typeof params>;
export const gather = defineStage({
  name: "gather", params, inputs: { values: { many: true } },
  outputs: { page: { kind: "file", exactness: "numeric", publish: () => "page.txt" } },
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  const lines = context.inputs("values").map(({ at, path }) => JSON.stringify(at) + Deno.readTextFileSync(path));
  Deno.writeTextFileSync(context.output("page"), [context.params.title, ...lines].join("\\n"));
  return Promise.resolve();
}`,
  });
  writeStage(project, {
    name: "timed",
    declaration: `
const params = z.strictObject({ rounds: z.int().default(1) });
export type Params = z.infer<typeof params>;
export const timed = defineStage({
  name: "timed", params, inputs: { text: {} },
  outputs: { speed: { kind: "file", exactness: "measured" } }, alone: true,
});`,
    run: `
export function run(context: StageContext<Params>): Promise<void> {
  Deno.writeTextFileSync(context.output("speed"), String(performance.now()));
  return Promise.resolve();
}`,
  });
  project.write(
    "lib/grow.ts",
    `import { factor } from "./factor.ts";
/** The largest start. */
export const LIMIT: number = 1000;
/** One step. */
export function grow(value: number): number {
  const twice = value + value;
  return twice * factor + 1;
}
export function unused(): number {
  return 1;
}
`,
  );
  project.write("lib/factor.ts", "export const factor = 3;\n");
  project.write("lib/colors.ts", 'export const tableauColors = ["blue"];\n');
  project.write("lib/table.json", '{ "offset": 5 }\n');
  project.write("experiments/toy/experiment.yaml", EXPERIMENT);
  project.write("main.ts", mainText(Object.keys(INSTANCES)));
  return Object.assign(project, { packages: linkPackages(project.path(".cache")) });
}

/** Replaces a file that may be a link: the original stays. */
export function replaceFile(path: string, change: (text: string) => string): void {
  const text = Deno.readTextFileSync(path);
  Deno.removeSync(path);
  Deno.writeTextFileSync(path, change(text));
}

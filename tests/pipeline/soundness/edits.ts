/**
 * Edits of a project, each with the instances that must run after it, and no others.
 *
 * @module
 */
import { join } from "node:path";
import { INSTANCES, replaceFile, type soundnessProject } from "./project.ts";

type Project = ReturnType<typeof soundnessProject>;

/** One edit. */
export interface Edit {
  /** What is edited, for people. */
  readonly what: string;
  /** The ingredient it moves; `undefined` if it must move none. */
  readonly moves?: string;
  /** The instances that must run, as far as the plan can know; those after them wait. */
  readonly runs: readonly string[];
  readonly apply: (project: Project) => void;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const { word, compute, gather, timed } = INSTANCES;
const none: readonly string[] = [];
const RUN = "stages/compute.run.ts",
  DECLARED = "stages/compute.ts",
  YAML = "experiments/toy/experiment.yaml";

function edit(file: string, from: string, to: string): Edit["apply"] {
  return (project) => project.edit(file, from, to);
}

function inPackage(file: string, change: (text: string) => string): Edit["apply"] {
  return (project) => replaceFile(join(project.packages, file), change);
}

/** Reads and writes a file back, so that nothing but its time and inode differ. */
function rewrite(file: string): Edit["apply"] {
  return (project) => {
    const text = project.read(file);
    Deno.removeSync(project.path(file));
    project.write(file, text);
  };
}

const CODE: readonly Edit[] = [
  {
    what: "a constant in a helper of a helper",
    moves: "code",
    runs: compute,
    apply: edit("lib/factor.ts", "factor = 3", "factor = 4"),
  },
  {
    what: "an operator in a helper",
    moves: "code",
    runs: compute,
    apply: edit("lib/grow.ts", "factor + 1", "factor - 1"),
  },
  {
    what: "the order of two operands",
    moves: "code",
    runs: compute,
    apply: edit(RUN, "seed * rate", "rate * seed"),
  },
  {
    what: "the text of a message",
    moves: "code",
    runs: compute,
    apply: edit(RUN, "too large", "too big"),
  },
  {
    what: "a value in a JSON file that it imports",
    moves: "code",
    runs: compute,
    apply: edit("lib/table.json", "5", "6"),
  },
  {
    what: "one stage's run",
    moves: "code",
    runs: word,
    apply: edit("stages/word.run.ts", "toLowerCase", "toUpperCase"),
  },
  {
    what: "another global function",
    moves: "code",
    runs: compute,
    apply: edit(RUN, "String(value)", "JSON.stringify(value)"),
  },
  { what: "a comment", runs: none, apply: edit(RUN, "Computes.", "Computes a value.") },
  {
    what: "the name of a local",
    runs: none,
    apply: edit(
      "lib/grow.ts",
      "const twice = value + value;\n  return twice",
      "const sum = value + value;\n  return sum",
    ),
  },
  {
    what: "the name of a parameter",
    runs: none,
    apply: edit(
      "lib/grow.ts",
      "(value: number): number {\n  const twice = value + value",
      "(x: number): number {\n  const twice = x + x",
    ),
  },
  {
    what: "a function that nothing uses",
    runs: none,
    apply: edit("lib/grow.ts", "return 1;", "return 2;"),
  },
  {
    what: "an export that the stage does not reach",
    runs: none,
    apply: edit("lib/colors.ts", "blue", "red"),
  },
  {
    what: "a type",
    runs: none,
    apply: edit("lib/grow.ts", "LIMIT: number", "LIMIT: number | bigint"),
  },
  {
    what: "white space and line ends",
    runs: none,
    apply: edit(RUN, "  const value =", "\n\n    const value  ="),
  },
  {
    what: "white space in a JSON file",
    runs: none,
    apply: edit("lib/table.json", '{ "offset": 5 }', '{"offset":5}'),
  },
  { what: "a file's time and inode", runs: none, apply: rewrite("lib/grow.ts") },
  {
    what: "a file that nothing imports",
    runs: none,
    apply: (p) => p.write("lib/new.ts", "export const a = 1;\n"),
  },
  {
    what: "a tsconfig.json in the project",
    runs: none,
    apply: (p) =>
      p.write(
        "tsconfig.json",
        '{"compilerOptions":{"target":"es5","useDefineForClassFields":false}}',
      ),
  },
  {
    what: "a package.json in the project",
    runs: none,
    apply: (p) =>
      p.write(
        "lib/package.json",
        '{"sideEffects":["*"],"type":"commonjs","browser":{"./grow.ts":false}}',
      ),
  },
];

const PACKAGES: readonly Edit[] = [
  {
    what: "a patched file of a package in the cache",
    moves: "packages",
    runs: compute,
    apply: inPackage("tar-stream/3.2.2/headers.js", (text) => `${text}\nexports.patched = 1\n`),
  },
  {
    what: "a patched file of a package that a package needs",
    moves: "packages",
    runs: compute,
    apply: inPackage("streamx/2.28.1/index.js", (text) => `${text}\nglobalThis.patched = 1\n`),
  },
  {
    what: "the file that a package's package.json names",
    moves: "packages",
    runs: compute,
    apply: inPackage(
      "tar-stream/3.2.2/package.json",
      (text) => JSON.stringify({ ...JSON.parse(text), main: "pack.js", exports: "./pack.js" }),
    ),
  },
  {
    what: "an import map entry that names a file instead of the package",
    moves: "code",
    runs: compute,
    apply: (project) => {
      project.write("lib/fake.ts", "export function extract() {}\n");
      project.write(
        "deno.json",
        project.read("deno.json").replace('"npm:tar-stream@3.2.2"', '"./lib/fake.ts"'),
      );
    },
  },
  {
    what: "an import map entry that names another package",
    moves: "code",
    runs: compute,
    apply: (project) =>
      project.write(
        "deno.json",
        project.read("deno.json").replace('"npm:tar-stream@3.2.2"', '"npm:hyparquet@1.31.5"'),
      ),
  },
  {
    what: "a package's README",
    runs: none,
    apply: inPackage("tar-stream/3.2.2/README.md", () => "other"),
  },
  {
    what: "a field of package.json that says nothing of its code",
    runs: none,
    apply: inPackage(
      "tar-stream/3.2.2/package.json",
      (text) => text.replace(/"description": "[^"]*"/, '"description": "x"'),
    ),
  },
  {
    what: "what the lock file says of a package that no stage imports",
    runs: none,
    apply: (project) => {
      const lock = JSON.parse(project.read("lock/deno.lock"));
      lock.npm["axe-core@4.14.1"].integrity = lock.npm["zod@4.6.7"].integrity;
      project.write("lock/deno.lock", JSON.stringify(lock));
    },
  },
  {
    what: "a task in deno.json",
    runs: none,
    apply: (project) =>
      project.write(
        "deno.json",
        project.read("deno.json").replace("{", '{"tasks":{"x":"echo x"},'),
      ),
  },
];

const PARAMS: readonly Edit[] = [
  { what: "a value", moves: "params.rate", runs: compute, apply: edit(YAML, "rate: 3", "rate: 4") },
  {
    what: "a value by --set",
    moves: "params.rate",
    runs: compute,
    apply: () => {},
    args: ["--set", "compute.rate=5"],
  },
  {
    what: "a value of one grid value",
    moves: "params.text",
    runs: ["word/bob"],
    apply: edit(YAML, "Bob", "Bill"),
  },
  {
    what: "a number made a text",
    moves: "params.options.first",
    runs: compute,
    apply: edit(YAML, "first: 1", 'first: "1"'),
  },
  {
    what: "the order of a list",
    moves: "params.options.second[0]",
    runs: compute,
    apply: edit(YAML, "[1, 2], third", "[2, 1], third"),
  },
  {
    what: "an entry more in a list",
    moves: "params.options.second[2]",
    runs: compute,
    apply: edit(YAML, "[1, 2], third", "[1, 2, 3], third"),
  },
  {
    what: "a key more in a map",
    moves: "params.options.fourth",
    runs: compute,
    apply: edit(YAML, 'third: "1"', 'third: "1", fourth: null'),
  },
  {
    what: "an empty list made an empty map",
    moves: "params.options.second",
    runs: compute,
    apply: edit(YAML, "second: [1, 2]", "second: {}"),
  },
  {
    what: "another default that applies",
    moves: "params.note",
    runs: compute,
    apply: edit(DECLARED, 'default("none")', 'default("some")'),
  },
  {
    what: "what a schema makes of a value",
    moves: "params.rate",
    runs: compute,
    apply: edit(DECLARED, "rate: z.number()", "rate: z.number().transform((x) => x + 1)"),
  },
  {
    what: "the order of a map's keys",
    runs: none,
    apply: edit(YAML, "{ first: 1, second: [1, 2], third", "{ second: [1, 2], first: 1, third"),
  },
  {
    what: "a default written out",
    runs: none,
    apply: edit(YAML, "rate: $rate", "rate: $rate\n      note: none"),
  },
  {
    what: "a reference instead of a value",
    runs: none,
    apply: edit(YAML, "rate: $rate", "rate: 3"),
  },
  { what: "another spelling of a number", runs: none, apply: edit(YAML, "rate: 3", "rate: 3.0e0") },
  { what: "a comment in the YAML", runs: none, apply: edit(YAML, "grid:", "# The grid.\ngrid:") },
  {
    what: "the experiment's title",
    runs: none,
    apply: edit(YAML, "experiment: toy", "experiment: toy\ntitle: Toy"),
  },
  {
    what: "an operational param",
    runs: none,
    apply: edit(YAML, "rate: $rate", "rate: $rate\n      delay: 1"),
  },
  {
    what: "a default that does not apply",
    runs: none,
    apply: edit(DECLARED, "default(1)", "default(2)"),
  },
  {
    what: "the prose of a schema",
    runs: none,
    apply: edit(DECLARED, "Fixes the draws", "Fixes all draws"),
  },
  {
    what: "a stricter rule that the values meet",
    runs: none,
    apply: edit(DECLARED, "min(0)", "min(1)"),
  },
];

const INPUTS: readonly Edit[] = [
  {
    what: "what an upstream instance makes, and so the digest of an input",
    moves: "code",
    runs: word,
    apply: edit("stages/word.run.ts", "toLowerCase()", "trim()"),
  },
  {
    what: "a grid value more",
    moves: "first run",
    runs: ["compute/ann/11", "compute/bob/11"],
    apply: edit(YAML, "seed: [2, 10]", "seed: [2, 10, 11]"),
  },
  {
    what: "a grid value less: what gathers sees one less",
    moves: "inputs.values",
    runs: gather,
    apply: edit(YAML, "seed: [2, 10]", "seed: [2]"),
  },
  {
    what: "the order of grid values",
    runs: none,
    apply: edit(YAML, "seed: [2, 10]", "seed: [10, 2]"),
  },
  {
    what: "the order of the axes that a stage varies over",
    runs: none,
    apply: edit(YAML, "each: [name, seed]", "each: [seed, name]"),
  },
];

const DECLARATION: readonly Edit[] = [
  {
    what: "an output's exactness",
    moves: "outputs.value",
    runs: compute,
    apply: edit(DECLARED, '"numeric"', '"exact"'),
  },
  {
    what: "an output's kind",
    moves: "outputs.speed",
    runs: timed,
    apply: edit("stages/timed.ts", 'kind: "file"', 'kind: "folder"'),
  },
  {
    what: "whether it runs alone",
    moves: "alone",
    runs: timed,
    apply: edit("stages/timed.ts", ", alone: true", ""),
  },
  {
    what: "where an output is published",
    runs: none,
    apply: edit("stages/gather.ts", "page.txt", "pages/page.txt"),
  },
  {
    what: "what an output is said to measure",
    runs: none,
    apply: edit("stages/gather.ts", 'page.txt"', 'page.txt", measures: { runs: ["accuracy"] }'),
  },
  {
    what: "what is checked and said before a run",
    runs: none,
    apply: edit(
      "stages/gather.ts",
      'name: "gather",',
      'name: "gather", check: () => [], preview: () => ["x"],',
    ),
  },
  {
    what: "the order in which it is written",
    runs: none,
    apply: edit("stages/gather.ts", 'name: "gather", params,', 'params, name: "gather",'),
  },
];

const MACHINE: readonly Edit[] = [
  {
    what: "another backend: numeric stages only",
    moves: "platform.backend",
    runs: compute,
    apply: () => {},
    args: ["--backend", "cpu"],
  },
  {
    what: "time zone, locale, HOME",
    runs: none,
    apply: () => {},
    env: { TZ: "Asia/Tokyo", LC_ALL: "tr_TR.UTF-8", LANG: "tr_TR.UTF-8", HOME: "/" },
  },
  {
    what: "what its instances take of the machine",
    runs: none,
    apply: edit(
      "experiments/toy/experiment.yaml",
      "  gather:\n",
      "    resources: { cpus: 1, memory: 1MB, gpus: 0, time: 1h }\n  gather:\n",
    ),
  },
  { what: "the number of jobs", runs: none, apply: () => {}, args: ["--jobs", "1"] },
  { what: "a mirror that no stage reads", runs: none, apply: () => {}, args: ["--mirror", "/"] },
];

/** All edits, by what they are about. */
export const EDITS: Readonly<Record<string, readonly Edit[]>> = {
  "a stage's code": CODE,
  "packages": PACKAGES,
  "params": PARAMS,
  "inputs": INPUTS,
  "a stage's declaration": DECLARATION,
  "the machine and the command": MACHINE,
};

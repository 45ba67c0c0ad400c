import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { z } from "zod";
import { loadExperiment } from "../../pipeline/config/experiment.ts";
import { ConfigError } from "../../pipeline/errors.ts";
import { buildGraph, type Instance, select } from "../../pipeline/plan/graph.ts";
import { defineStage, type Stage } from "../../pipeline/stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const file = { kind: "file", exactness: "exact" } as const;
const STAGES = new Map<string, Stage>(
  [
    defineStage({
      name: "make",
      params: z.strictObject({
        rate: z.number().default(1),
        nested: z.strictObject({ a: z.int().default(1), b: z.int().default(2) }).prefault({}),
        from: z.string().default(""),
      }),
      inputs: {},
      outputs: { out: file },
    }) as Stage,
    defineStage({
      name: "join",
      params: z.strictObject({}),
      inputs: { one: {}, all: { many: true } },
      outputs: { out: file },
    }) as Stage,
    defineStage({
      name: "time",
      params: z.strictObject({}),
      inputs: { all: { many: true } },
      outputs: { out: { ...file, exactness: "measured" } },
    }) as Stage,
    defineStage({
      name: "both",
      params: z.strictObject({}),
      inputs: { all: { many: true } },
      outputs: {
        out: { ...file, exactness: "measured" },
        table: { ...file, exactness: "numeric" },
      },
    }) as Stage,
  ].map((stage) => [stage.name, stage]),
);

/** Writes an experiment file and loads it. */
function load(text: string, options: { profile?: string; set?: string[]; mirror?: string } = {}) {
  const root = temporaryFolder();
  Deno.mkdirSync(`${root}/experiments`);
  Deno.writeTextFileSync(`${root}/experiments/x.yaml`, text);
  Deno.writeTextFileSync(`${root}/experiments/more.yaml`, "deep: { value: included }\n");
  const experiment = loadExperiment("x", {
    root,
    profile: options.profile ?? "p",
    set: options.set ?? [],
    stages: STAGES,
    mirror: options.mirror,
  });
  return { experiment, graph: buildGraph(experiment) };
}

const names = (graph: readonly Instance[]) => graph.map(({ name }) => name);
const params = (graph: readonly Instance[], name: string) =>
  graph.find((instance) => instance.name === name)!.params;

const LAYERS = `experiment: x
axes: { d: { one: { make: { rate: 2, nested: { a: 20 } } }, two: {} } }
grid: { d: [one, two] }
stages: { make: { each: [d], params: { rate: 5, nested: { b: 50 } } } }
profiles:
  p: {}
  q: { stages: { make: { params: { rate: 7 } } }, axes: { d: { two: { make: { rate: 8 } } } } }
`;

Deno.test("a grid value overrides its stage, a profile overrides both, --set overrides all", () => {
  const base = load(LAYERS).graph;
  assertEquals(params(base, "make/one"), { rate: 2, nested: { a: 20, b: 50 }, from: "" });
  assertEquals(params(base, "make/two"), { rate: 5, nested: { a: 1, b: 50 }, from: "" });
  const profile = load(LAYERS, { profile: "q" }).graph;
  assertEquals(params(profile, "make/one"), { rate: 7, nested: { a: 20, b: 50 }, from: "" });
  assertEquals(params(profile, "make/two"), { rate: 8, nested: { a: 1, b: 50 }, from: "" });
  const set = load(LAYERS, { profile: "q", set: ["make.rate=9", "d.one.make.nested.a=3"] }).graph;
  assertEquals(params(set, "make/one"), { rate: 9, nested: { a: 3, b: 50 }, from: "" });
  assertEquals(names(load(LAYERS, { set: ["grid.d=[two]"] }).graph), ["make/two"]);
});

Deno.test("references take grid values, definitions and included files; $$ is a plain $", () => {
  const of = (from: string) =>
    params(
      load(`experiment: x
include: { more: ./more.yaml }
define: { word: { here: defined } }
grid: { d: [one] }
stages: { make: { each: [d], params: { from: ${from} } } }
profiles: { p: {} }
`).graph,
      "make/one",
    );
  assertEquals((of("$d") as { from: string }).from, "one");
  assertEquals((of("$word.here") as { from: string }).from, "defined");
  assertEquals((of("$more.deep.value") as { from: string }).from, "included");
  assertEquals((of("$$d") as { from: string }).from, "$d");
});

Deno.test("--set may define what params refer to", () => {
  const set = ["make.rate=$speed.high", "define.speed.high=6"];
  assertEquals(params(load(LAYERS, { set }).graph, "make/two"), {
    rate: 6,
    nested: { a: 1, b: 50 },
    from: "",
  });
});

const WIRING = `experiment: x
grid: { d: [one, two], s: [1, 2] }
exclude: [{ d: two, s: [2] }]
stages:
  a: { stage: make, each: [d] }
  b: { stage: make, each: [d, s] }
  c: { stage: join, each: [s], inputs: { one: e.out, all: [a.out, b.out] } }
  e: { stage: make }
profiles: { p: {} }
`;

Deno.test("an input takes the instances that agree on every axis both vary over", () => {
  const { graph } = load(WIRING);
  assertEquals(names(graph), [
    "a/one",
    "a/two",
    "b/one/1",
    "b/one/2",
    "b/two/1",
    "e",
    "c/1",
    "c/2",
  ]);
  const bound = (name: string) =>
    graph.find((instance) => instance.name === name)!.inputs["all"]!.map((b) => b.instance.name);
  assertEquals(bound("c/1"), ["a/one", "a/two", "b/one/1", "b/two/1"]);
  assertEquals(bound("c/2"), ["a/one", "a/two", "b/one/2"]);
});

Deno.test("a selection brings what it needs, in order", () => {
  const { graph } = load(WIRING);
  assertEquals(names(select(graph, (name) => name === "c/2")), [
    "a/one",
    "a/two",
    "b/one/2",
    "e",
    "c/2",
  ]);
});

Deno.test("an input that takes one artifact refuses several, naming them and the line", () => {
  const text = WIRING.replace("one: e.out", "one: a.out");
  const error = assertThrows(() => load(text), ConfigError, 'takes exactly one "one"');
  assertStringIncludes(error.message, "experiments/x.yaml:7: stages.c.inputs.one: c/1 takes");
});

Deno.test("duplicate grid values and duplicate keys are refused", () => {
  assertThrows(
    () => load(WIRING.replace("s: [1, 2]", "s: [1, 1]")),
    ConfigError,
    "experiments/x.yaml:2: grid.s: value 1 stands twice",
  );
  assertThrows(
    () => load(WIRING.replace("  e: {", "  a: { stage: make }\n  e: {")),
    ConfigError,
    "not valid YAML",
  );
});

Deno.test("a declaration whose operational params its schema lacks is refused", () => {
  const declare = (...operational: string[]) =>
    defineStage({
      name: "make",
      params: z.strictObject({ every: z.int() }) as z.ZodType<Record<string, number>>,
      inputs: {},
      outputs: { out: file },
      operational,
    });
  declare("every");
  assertThrows(() => declare("evry"), ConfigError, 'params of its schema, found "evry"');
});

Deno.test("a stage sees settled params, and so does its key", () => {
  const settled = defineStage({
    name: "make",
    params: z.strictObject({ choices: z.array(z.string()) }),
    inputs: {},
    outputs: { out: file },
    settle: ({ choices }, { mirror }) => ({ choices: [mirror ?? choices[0]!] }),
  });
  const before = STAGES.get("make")!;
  STAGES.set("make", settled as Stage);
  try {
    const text = `experiment: x
stages: { make: { params: { choices: [a, b] } } }
profiles: { p: {} }
`;
    assertEquals(params(load(text).graph, "make"), { choices: ["a"] });
    assertEquals(params(load(text, { mirror: "/m" }).graph, "make"), { choices: ["/m"] });
  } finally {
    STAGES.set("make", before);
  }
});

Deno.test("the editor's schema in experiments/ is the one this program would write", async () => {
  const { editorSchema } = await import("../../pipeline/config/schema.ts");
  const { project } = await import("../../main.ts");
  const written = Deno.readTextFileSync(new URL("../../experiments/schema.json", import.meta.url));
  const stages = new Map(project.stages.map((stage) => [stage.name, stage]));
  const now = JSON.parse(JSON.stringify(editorSchema(stages)));
  assertEquals(JSON.parse(written), now, "the schema is out of date; run: deno task schema");
});

Deno.test("timings may be read by a stage whose outputs are all measured, and by no other", () => {
  const wired = (reader: string) =>
    load(`experiment: x
grid: {}
stages:
  time: {}
  reader:
    stage: ${reader}
    inputs: { all: time.out }
profiles: { p: {} }
`);
  assertThrows(
    () => wired("both"),
    ConfigError,
    "experiments/x.yaml:7: stages.reader.inputs.all: outputs of a stage that reads timings must " +
      "all be measured, found time.out measured and reader.table numeric; read it in a stage of " +
      "its own",
  );
  assertEquals(names(wired("time").graph), ["time", "reader"]);
});

import {
  assert,
  assertEquals,
  assertNotEquals,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { experimentNames } from "../../pipeline/config/files.ts";
import { ConfigError } from "../../pipeline/errors.ts";
import { keyOf } from "../../pipeline/key/ingredients.ts";
import { ingredientsOf, inputDigests } from "../../pipeline/plan/ingredients.ts";
import type { Sha256 } from "../../pipeline/key/hash.ts";
import { type Instance, select } from "../../pipeline/plan/graph.ts";
import { defineStage, type Stage } from "../../pipeline/stage.ts";
import { loadFiles, type LoadOptions } from "../rig/experiment.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const file = { kind: "file", exactness: "exact" } as const;
const make = defineStage({
  name: "make",
  params: z.strictObject({
    rate: z.number().default(1),
    nested: z.strictObject({ a: z.int().default(1), b: z.int().default(2) }).prefault({}),
    from: z.string().default(""),
  }),
  inputs: {},
  outputs: { out: file },
}) as Stage;
const others = [
  defineStage({
    name: "join",
    params: z.strictObject({}),
    inputs: { one: {}, all: { many: true } },
    outputs: { out: file },
  }),
  defineStage({
    name: "time",
    params: z.strictObject({}),
    inputs: { all: { many: true } },
    outputs: { out: { ...file, exactness: "measured" } },
  }),
  defineStage({
    name: "both",
    params: z.strictObject({}),
    inputs: { all: { many: true } },
    outputs: { out: { ...file, exactness: "measured" }, table: { ...file, exactness: "numeric" } },
  }),
  // Takes what a stage of tables takes, and what no file can hold.
  defineStage({
    name: "table",
    params: z.strictObject({
      tables: z.record(z.string(), z.record(z.string(), z.array(z.number()))).default({}),
      any: z.unknown().optional(),
      when: z.string().transform((text) => new Date(text)).optional(),
    }),
    inputs: {},
    outputs: { out: file },
  }),
] as Stage[];

/** Reads an experiment file. */
function load(text: string, options: LoadOptions & { readonly stages?: readonly Stage[] } = {}) {
  const files = { "experiment.yaml": text, "more.yaml": "deep: { value: included }\n" };
  return loadFiles(files, options.stages ?? [make, ...others], options);
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

Deno.test("an axis that only another profile's grid has is no part of this run", () => {
  const text = WIRING.replace("stages:\n", "axes: { way: { odd: { b: { rate: 7 } } } }\nstages:\n")
    .replace("each: [d, s] }", "each: [d, way, s] }")
    .replace("{ p: {} }", "{ p: {}, q: { grid: { way: [plain, odd] } } }")
    .replace("way: { odd:", "way: { plain: {}, odd:");
  assertEquals(names(load(text).graph), names(load(WIRING).graph));
  const { graph } = load(text, { profile: "q" });
  assertEquals(names(graph).filter((name) => name.startsWith("b/one")), [
    ...["b/one/plain/1", "b/one/plain/2", "b/one/odd/1", "b/one/odd/2"],
  ]);
  assertEquals((params(graph, "b/one/odd/1") as { rate: number }).rate, 7);
  assertEquals((params(graph, "b/one/plain/1") as { rate: number }).rate, 1);
  const typo = text.replace("each: [d, way, s]", "each: [d, wey, s]");
  assertThrows(() => load(typo), ConfigError, 'no grid axis "wey"; did you mean "way"?');
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
  assertStringIncludes(
    error.message,
    "experiments/x/experiment.yaml:7: stages.c.inputs.one: c/1 takes",
  );
});

Deno.test("duplicate grid values and duplicate keys are refused", () => {
  assertThrows(
    () => load(WIRING.replace("s: [1, 2]", "s: [1, 1]")),
    ConfigError,
    "experiments/x/experiment.yaml:2: grid.s.1: value 1 is listed twice",
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
    settle: ({ choices }, { mirror, grid }) => ({
      choices: [mirror ?? choices[0]!, ...grid["seed"] ?? []],
    }),
  });
  const stages = [settled as Stage];
  const text = `experiment: x
stages: { make: { params: { choices: [a, b] } } }
profiles: { p: {} }
`;
  assertEquals(params(load(text, { stages }).graph, "make"), { choices: ["a"] });
  const mirror = temporaryFolder();
  assertEquals(params(load(text, { stages, mirror }).graph, "make"), { choices: [mirror] });
  const gridded = text.replace("{ p: {} }", "{ p: { grid: { seed: [1, 2] } } }")
    .replace("make: {", "make: { each: [seed],");
  assertEquals(params(load(gridded, { stages }).graph, "make/1"), { choices: ["a", "1", "2"] });
});

Deno.test("what settles params knows where they are, what is left out and what feeds each input", () => {
  const settled = defineStage({
    name: "gathering",
    params: z.strictObject({ known: z.unknown() }),
    inputs: { all: { many: true } },
    outputs: { out: file },
    settle: (_, { mirror: _mirror, pins: _pins, ...known }) => ({ known }),
  });
  const make = defineStage({
    name: "make",
    params: z.strictObject({}),
    inputs: {},
    outputs: { out: file },
  });
  const { graph } = load(
    `experiment: x
grid: { seed: [1, 2], arm: [a, b] }
exclude: [{ arm: b, seed: [1] }]
stages:
  make: { each: [seed, arm] }
  gathering: { each: [arm], inputs: { all: make.out }, params: { known: 0 } }
profiles: { p: {} }
`,
    { stages: [settled as Stage, make as Stage] },
  );
  assertEquals(params(graph, "gathering/b"), {
    known: {
      at: { arm: "b" },
      grid: { arm: ["a", "b"], seed: ["1", "2"] },
      exclude: [{ arm: ["b"], seed: ["1"] }],
      each: { all: [["seed", "arm"]] },
    },
  });
});

Deno.test("the editor's schema in experiments/ is the one this program would write", async () => {
  const { editorSchema } = await import("../../pipeline/config/schema.ts");
  const { project } = await import("../../main.ts");
  const written = Deno.readTextFileSync(new URL("../../experiments/schema.json", import.meta.url));
  const { loadStages } = await import("../../pipeline/cli/wiring.ts");
  const now = JSON.parse(JSON.stringify(editorSchema(await loadStages(project))));
  assertEquals(JSON.parse(written), now, "the schema is out of date; run: deno task schema");
});

Deno.test("what is made from timings is measured, however far from them, and nothing else is", () => {
  const { experiment } = load(`experiment: x
stages:
  far: { stage: join, inputs: { one: near.out } }
  near: { stage: both, inputs: { all: [make.out, both.out] } }
  both: {}
  beside: { stage: join, inputs: { one: both.table } }
  apart: { stage: join, inputs: { one: make.out } }
  make: {}
profiles: { p: {} }
`);
  const exactness = [...experiment.nodes].map(([name, { stage }]) => [
    name,
    Object.values(stage.outputs).map((output) => output.exactness).join(),
  ]);
  assertEquals(exactness, [
    ["far", "measured"],
    ["near", "measured,measured"],
    ["both", "measured,numeric"],
    ["beside", "exact"],
    ["apart", "exact"],
    ["make", "exact"],
  ]);
});

/** Key of an instance whose inputs all hold what their own instance is called by, less the order. */
function keyAndView(instance: Instance) {
  const digest = (from: Instance) =>
    JSON.stringify(Object.entries(from.at).map(String).sort()) as Sha256;
  const outputs = (from: Instance) => ({
    out: { sha256: digest(from), bytes: 1, kind: "file", exactness: "exact" } as const,
  });
  return {
    key: keyOf(ingredientsOf(instance, {}, inputDigests(instance, outputs))),
    // What reaches a stage of a gathered input: coordinates as text, and content.
    view: JSON.stringify(
      Object.entries(instance.inputs).sort(([a], [b]) => a < b ? -1 : 1).map(([, bound]) =>
        bound.map(({ instance: from }) => [
          Object.entries(from.at).map(([axis, value]) => [axis, String(value)]),
          digest(from),
        ])
      ),
    ),
  };
}

Deno.test("the order in which a map is written reaches neither a stage nor its key", () => {
  const of = (tables: string) => {
    const { graph } = load(`experiment: x
stages: { table: { params: { tables: ${tables} } } }
profiles: { p: {} }
`);
    const { key } = keyAndView(graph[0]!);
    return { key, seen: JSON.stringify(graph[0]!.params) };
  };
  const one = of("{ one: { b: [1], a: [2], 10: [3], 9: [4] }, two: {} }");
  const other = of("{ two: {}, one: { 9: [4], a: [2], 10: [3], b: [1] } }");
  assertEquals(other, one);
  assertNotEquals(of("{ one: { b: [2], a: [1], 10: [3], 9: [4] }, two: {} }"), one);
});

Deno.test("the order in which a stage gathers is that of what is in its key", () => {
  const of = (grid: string, each: string) => {
    const { graph } = load(`experiment: x
grid: { ${grid} }
stages:
  make: { each: [${each}] }
  again: { stage: make, each: [s] }
  time: { inputs: { all: [${each === "d, s" ? "make.out, again.out" : "again.out, make.out"}] } }
profiles: { p: {} }
`);
    return keyAndView(graph.find(({ name }) => name === "time")!);
  };
  const one = of("d: [x, y], s: [2, 10]", "d, s");
  assertEquals(of("d: [y, x], s: [10, 2]", "d, s"), one);
  assertEquals(of("s: [2, 10], d: [x, y]", "s, d"), one);
  assertEquals(of('d: [x, y], s: ["2", "10"]', "s, d"), one);
  assertNotEquals(of("d: [x, z], s: [2, 10]", "d, s").key, one.key);
});

Deno.test("what names an axis or an input twice is refused", () => {
  const of = (each: string, all: string) => () =>
    load(`experiment: x
grid: { d: [one] }
stages:
  make: { each: [${each}] }
  time:
    inputs:
      all:
        - make.out
        - ${all}
profiles: { p: {} }
`);
  assertThrows(
    of("d, d", "make.out"),
    ConfigError,
    'experiments/x/experiment.yaml:4: stages.make.each.1: "d" is listed twice',
  );
  assertThrows(
    of("d", "make.out"),
    ConfigError,
    'experiments/x/experiment.yaml:9: stages.time.inputs.all.1: "make.out" is listed twice',
  );
});

Deno.test("a date is text, and what a schema makes of it is refused where it is written", () => {
  const of = (params: string) =>
    load(`experiment: x
stages:
  table:
    params:
      ${params}
profiles: { p: {} }
`);
  assertEquals(params(of("any: 2024-01-01").graph, "table"), { any: "2024-01-01", tables: {} });
  assertThrows(
    () => of("when: 2024-01-01"),
    ConfigError,
    "experiments/x/experiment.yaml:5: stages.table.params.when: must be text, a number, true or false, null, " +
      "a list or a mapping, found a Date",
  );
  const found = assertThrows(() => of("any: !!binary aGVsbG8="), ConfigError).message;
  assertStringIncludes(
    found,
    "experiments/x/experiment.yaml:5:29: not valid YAML: Cannot resolve unknown tag",
  );
});

Deno.test("an error in what a reference brings in names where that is written", () => {
  const of = (more: string, from: string, set: readonly string[] = []) =>
    assertThrows(() =>
      loadFiles(
        {
          "experiment.yaml": `experiment: x
include: { more: data/more.yaml }
define:
  small:
    tables: { one: [] }
stages:
  table:
    params: { tables: ${from} }
profiles: { p: {} }
`,
          "data/more.yaml": more,
        },
        others,
        { set },
      ), ConfigError).message;
  const from = (reference: string) =>
    `\n  from experiments/x/experiment.yaml:8: stages.table.params.tables: ${reference}`;
  assertEquals(
    of(
      "# A comment.\ntables:\n  one: { a: [1], b: [2] }\n  two:\n    c: { d: 1 }\n",
      "$more.tables",
    ),
    'experiments/x/data/more.yaml:5: tables.two.c: must be a list, found {"d":1}' +
      from("$more.tables"),
  );
  assertEquals(
    of("one: { a: [1,\n  x] }\ntwo: 3\n", "$more"),
    'experiments/x/data/more.yaml:2: one.a.1: must be a number, found "x"' + from("$more") +
      "\nexperiments/x/data/more.yaml:3: two: must be a mapping, found 3" + from("$more"),
  );
  assertEquals(
    of("", "$small.tables"),
    "experiments/x/experiment.yaml:5: define.small.tables.one: must be a mapping, found []" +
      from("$small.tables"),
  );
  assertEquals(
    of("", "$small.tables", ["define.small.tables.one={a: 1}"]),
    "--set define.small.tables.one={a: 1}: must be a list, found 1" + from("$small.tables"),
  );
  assertEquals(
    of("a: 1\nb: .nan\n", "{}"),
    "experiments/x/data/more.yaml:2: b: must be a finite number, found .nan",
  );
  assertEquals(
    of("a: 1\nb: [\n", "{}").split("\n")[0],
    "experiments/x/data/more.yaml:3:1: not valid YAML: Cannot read flow collection: unexpected end " +
      "of the stream within a flow collection",
  );
});

/** Reads an experiment that includes one file, under its name, and hands it to a stage that checks it. */
function including(name: string, content: string) {
  const rows = defineStage({
    name: "rows",
    params: z.strictObject({
      rows: z.array(
        z.strictObject({ source: z.string(), value: z.string().regex(/^\d+$/, "must be digits") }),
      )
        .default([]),
      text: z.string().min(1).default("-"),
    }),
    inputs: {},
    outputs: { out: file },
  }) as Stage;
  const param = name.endsWith(".csv") ? "rows" : "text";
  const text = `experiment: x
include: { more: ${name} }
stages:
  rows:
    params: { ${param}: $more }
profiles: { p: {} }
`;
  return params(loadFiles({ "experiment.yaml": text, [name]: content }, [rows]).graph, "rows");
}
const brokenIn = (name: string, content: string) =>
  assertThrows(() => including(name, content), ConfigError).message;

Deno.test("an included CSV is a list of records, and an error in one names its line", () => {
  const csv = 'source,value\n"Table 1,\nthe ""first""",5\n\n\r\nTable 2,6\r\n';
  assertEquals(including("more.csv", csv), {
    rows: [{ source: 'Table 1,\nthe "first"', value: "5" }, { source: "Table 2", value: "6" }],
    text: "-",
  });
  assertEquals(
    brokenIn("more.csv", `${csv}"Table\n3",x\nTable 4,"y\ny"\n`),
    'experiments/x/more.csv:7: value: must be digits, found "x"\n' +
      "  from experiments/x/experiment.yaml:5: stages.rows.params.rows: $more\n" +
      'experiments/x/more.csv:9: value: must be digits, found "y\\ny"\n' +
      "  from experiments/x/experiment.yaml:5: stages.rows.params.rows: $more",
  );
  const of = (content: string) => brokenIn("more.csv", content);
  assertStringIncludes(of("source,page\na,b\n"), 'more.csv:2: page: unknown key "page"');
  assertEquals(of(""), "experiments/x/more.csv:1: must have a header, found nothing");
  assertEquals(
    of("\na,,b\n"),
    "experiments/x/more.csv:2: column 2 must have a name of its own in the header, found none",
  );
  assertEquals(
    of("a,b,a\n"),
    'experiments/x/more.csv:1: column 3 must have a name of its own in the header, found "a" twice',
  );
  assertEquals(
    of('source,value\n"a\nb",1\n\nc\n'),
    "experiments/x/more.csv:5: must have 2 fields, as the header has, found 1",
  );
  assertStringIncludes(of('source,value\n"a\nb",1\n\nc,d"\n'), "more.csv:5: not valid CSV: bare");
  assertEquals(
    of('source,value\na,"1\n'),
    'experiments/x/more.csv:2: not valid CSV: extraneous or missing " in quoted-field',
  );
});

Deno.test("included Markdown is one text", () => {
  assertEquals(including("more.md", "# Title\n\nA: b.\n"), {
    rows: [],
    text: "# Title\n\nA: b.\n",
  });
  assertStringIncludes(
    brokenIn("more.md", ""),
    "experiments/x/more.md:1: must have at least 1 character",
  );
});

Deno.test("a line is that of the key in question, in whatever style it is written", () => {
  const of = (text: string) =>
    assertThrows(() => loadFiles({ "experiment.yaml": text }, others), ConfigError).message.match(
      /experiment\.yaml:(\d+)/,
    )?.[1];
  const file = (params: string) =>
    `experiment: x
profiles: { p: {} }
define: { one: { a: [0] } }
stages:
  table:
    params: ${params}
`;
  assertEquals(
    of(
      file("{\n      tables: {\n        one: { b: [1] },\n        two: { a: 1 },\n      },\n    }"),
    ),
    "9",
  );
  assertEquals(of(file('\n      "tables":\n        one: { b: [1] }\n        "two": 3')), "9");
  assertEquals(
    of(file("\n      tables:\n        one:\n          a:\n          - 1\n          - x")),
    "11",
  );
  assertEquals(of(file("\n      ? tables\n      : one: 1\n      # one: 2\n")), "8");
  assertEquals(
    of(file("\n      any: |\n        tables:\n          one: 1\n      tables:\n        one: 1")),
    "11",
  );
  assertEquals(
    of(file("\n      any: &x { one: 1 }\n      tables: *x")),
    "7",
    "where the alias's is",
  );
  assertEquals(of(file("{ tabels: {} }").replaceAll("\n", "\r\n")), "6");
});

Deno.test("a file that is included by the name of a grid axis is refused", () => {
  assertThrows(
    () =>
      load("experiment: x\ninclude: { d: more.yaml }\n" + LAYERS.slice("experiment: x\n".length)),
    ConfigError,
    "experiments/x/experiment.yaml:2: include.d: $d is the value of a grid axis; include by another name",
  );
});

const EXCLUDE = `experiment: x
grid: { d: [one, two], s: [1, 2] }
exclude:
  - { d: two, s: 3 }
  - { d: [one, tow] }
axes: { d: { one: {}, two: {}, four: {} } }
stages: { make: { each: [d, s] } }
profiles:
  p: {}
  q: { grid: { s: [3] }, exclude: [{ d: four }] }
  r:
    exclude:
      - { s: 4 }
`;

Deno.test("a value that no grid has is refused in an exclusion, in the file's also where a profile has its own", () => {
  for (const profile of ["p", "q"]) {
    assertThrows(
      () => load(EXCLUDE, { profile }),
      ConfigError,
      'experiments/x/experiment.yaml:5: exclude.1.d.1: "tow" is no value of grid.d; did you mean "two"?',
    );
  }
  const exclude = EXCLUDE.replace("tow", "two");
  assertThrows(
    () => load(exclude.replace("d: two, s", "b: two, s"), { profile: "q" }),
    ConfigError,
    'experiments/x/experiment.yaml:4: exclude.0.b: no grid axis "b"; known: d, s',
  );
  assertThrows(
    () => load(exclude, { profile: "r" }),
    ConfigError,
    'experiments/x/experiment.yaml:13: profiles.r.exclude.0.s: "4" is no value of grid.s; known: 1, 2, 3',
  );
  // Of another profile's grid, or one that a file changes params for.
  assertEquals(names(load(exclude).graph), []);
  assertEquals(names(load(exclude, { profile: "q" }).graph), ["make/one/3", "make/two/3"]);
});

Deno.test("a mirror is a folder or a URL, whoever names it", () => {
  const text = `experiment: x
mirror: nowhere
stages: { make: {} }
profiles: { p: {}, q: { mirror: gone } }
`;
  const of = (options: LoadOptions) => () => load(text, options).experiment.mirror;
  assertThrows(
    of({}),
    ConfigError,
    'experiments/x/experiment.yaml:2: mirror: must be a folder or a URL, found "nowhere"',
  );
  assertThrows(
    of({ profile: "q" }),
    ConfigError,
    'experiments/x/experiment.yaml:4: profiles.q.mirror: must be a folder or a URL, found "gone"',
  );
  assertThrows(
    of({ mirror: "experiments/x/experiment.yaml" }),
    ConfigError,
    "Cannot use --mirror experiments/x/experiment.yaml: it must be a folder or a URL, and is neither",
  );
  assertEquals(of({ mirror: "http://127.0.0.1:1/x" })(), "http://127.0.0.1:1/x");
  assertStringIncludes(of({ mirror: "experiments" })()!, "/experiments");
});

Deno.test("every experiment file of this project names the schema that editors check it with", () => {
  const folder = new URL("../../experiments/", import.meta.url);
  const names = experimentNames(fileURLToPath(new URL("../../", import.meta.url)));
  assert(names.length > 0);
  for (const name of names) {
    const [first] = Deno.readTextFileSync(new URL(`${name}/experiment.yaml`, folder)).split("\n");
    assertEquals(first, "# yaml-language-server: $schema=../schema.json", name);
  }
  assert(Deno.statSync(new URL("schema.json", folder)).isFile);
});

import { assertEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import { ConfigError } from "../../pipeline/errors.ts";
import { checkInstances, surroundingsOf } from "../../pipeline/plan/surroundings.ts";
import { defineStage, type Stage, type Surroundings } from "../../pipeline/stage.ts";
import { loadFiles } from "../rig/experiment.ts";
import { toyProject, writeStage } from "../rig/project.ts";

const file = { kind: "file", exactness: "exact" } as const;
const seen: Surroundings[] = [];
const stages = [
  defineStage({
    name: "measure",
    params: z.strictObject({ width: z.int().default(8), parts: z.int().default(2) }),
    inputs: {},
    outputs: {
      scores: {
        ...file,
        measures: { runs: ["accuracy"] },
        holds: ({ parts }) => ({ part: [`parts_of_${parts}`] }),
      },
      weights: file,
    },
    check: ({ width, parts }) =>
      width % parts === 0
        ? []
        : [{ path: ["parts"], message: `must divide width, found ${parts}` }],
  }),
  defineStage({
    name: "conclude",
    params: z.strictObject({
      rows: z.array(z.record(z.string(), z.string())).default([]),
      text: z.string().default(""),
      axis: z.string().default("size"),
    }),
    inputs: { scores: { many: true } },
    outputs: { out: file },
    // A promise, as from a check whose module is loaded when it is needed.
    check({ rows, text, axis }, surroundings) {
      seen.push(surroundings);
      const holes = text.split("\n").flatMap((line, index) =>
        line.includes("{{") ? [{ path: ["text", index + 1], message: "no such table" }] : []
      );
      const values = rows.flatMap(({ value }, index) =>
        surroundings.axes[axis]!.includes(value!)
          ? []
          : [{ path: ["rows", index, "value"], message: `no such ${axis}: ${value}` }]
      );
      return Promise.resolve([...values, ...holes]);
    },
  }),
] as Stage[];

const FILE = `experiment: x
include: { rows: rows.csv, text: text.md }
axes:
  size:
    s: { measure: { width: 6 } }
    m: {}
    l: { measure: { parts: 3 } }
grid: { size: [s, m], seed: [1, 2] }
stages:
  measure: { each: [size, seed] }
  conclude:
    each: [size]
    inputs: { scores: measure.scores }
    params: { rows: $rows, text: $text }
profiles:
  p: {}
  large: { grid: { size: [l], seed: [3] } }
`;

async function check(
  set: readonly string[],
  o: { rows?: string; text?: string; profile?: string },
) {
  const files = {
    "experiment.yaml": FILE,
    "rows.csv": o.rows ?? "value\n",
    "text.md": o.text ?? "",
  };
  const { experiment, graph } = loadFiles(files, stages, { profile: o.profile ?? "p", set });
  await checkInstances(graph, experiment);
}
const found = async (...args: Parameters<typeof check>) =>
  (await assertRejects(() => check(...args), ConfigError)).message;

Deno.test("what a stage finds wrong is shown where it is written, of several instances once", async () => {
  await check([], {});
  assertEquals(
    await found([], { profile: "large" }),
    "experiments/x/experiment.yaml:7: axes.size.l.measure.parts: must divide width, found 3",
  );
  assertEquals(
    await found(["measure.parts=4"], {}),
    "--set measure.parts=4: must divide width, found 4",
  );
});

Deno.test("what it finds wrong in an included table or text has that file and line", async () => {
  const from = (param: string) =>
    `\n  from experiments/x/experiment.yaml:14: stages.conclude.params.${param}: $${param}`;
  assertEquals(
    await found([], { rows: "value\ns\nl\nxl\n", text: "# One\n\n{{table two}}\n" }),
    `experiments/x/rows.csv:4: value: no such size: xl${from("rows")}\n` +
      `experiments/x/text.md:3: no such table${from("text")}`,
  );
});

Deno.test("a check sees all axes, this run's grid and what feeds each input", async () => {
  seen.length = 0;
  await check(["grid.seed=[7]"], {});
  const feed = (size: string) => ({
    scores: [{
      node: "measure",
      output: "scores",
      each: ["size", "seed"],
      at: [{ seed: "7", size }],
      measures: { runs: { axes: ["size", "seed"], columns: ["accuracy"] } },
      holds: { part: ["parts_of_2"] },
    }],
  });
  const axes = { size: ["s", "m", "l"], seed: ["7", "1", "2", "3"] };
  const grid = { size: ["s", "m"], seed: ["7"] };
  assertEquals(seen, [
    { axes, grid, inputs: feed("s") },
    { axes, grid, inputs: feed("m") },
  ]);
});

Deno.test("a check sees what an input gathered from further up measures", () => {
  const gather = defineStage({
    ...{ name: "gather", params: z.strictObject({}), inputs: { scores: { many: true } } },
    outputs: { all: { ...file, gathers: "scores" } },
  });
  const draw = defineStage({
    ...{ name: "draw", params: z.strictObject({}), inputs: { all: {} }, outputs: { out: file } },
  });
  const text = FILE.replace(
    "profiles:",
    "  gather: { inputs: { scores: measure.scores } }\n  draw: { inputs: { all: gather.all } }\n" +
      "profiles:",
  );
  const files = { "experiment.yaml": text, "rows.csv": "value\n", "text.md": "" };
  const { experiment, graph } = loadFiles(files, [...stages, gather, draw] as Stage[], {
    profile: "p",
    set: [],
  });
  const drawing = [...graph].find(({ node }) => node.name === "draw")!;
  const [feed] = surroundingsOf(drawing, experiment).inputs["all"]!;
  assertEquals(feed!.measures, { runs: { axes: ["size", "seed"], columns: ["accuracy"] } });
});

Deno.test("what is measured beside each other varies over the axes of all that it takes, other tables of it do not", () => {
  const time = defineStage({
    ...{ name: "time", params: z.strictObject({}), inputs: { weights: { many: true } } },
    outputs: { times: { ...file, measures: { rounds: ["*", "round", "ms"], timing: ["rounds"] } } },
  });
  const gather = defineStage({
    ...{ name: "gather", params: z.strictObject({}), inputs: { all: { many: true } } },
    outputs: { out: file },
  });
  const text = FILE.replace(
    "profiles:",
    "  time: { each: [seed], inputs: { weights: measure.weights } }\n" +
      "  gather: { inputs: { all: time.times } }\nprofiles:",
  );
  const files = { "experiment.yaml": text, "rows.csv": "value\n", "text.md": "" };
  const { experiment, graph } = loadFiles(files, [...stages, time, gather] as Stage[], {});
  const gathering = [...graph].find(({ node }) => node.name === "gather")!;
  const [feed] = surroundingsOf(gathering, experiment).inputs["all"]!;
  assertEquals(feed!.measures, {
    rounds: { axes: ["seed", "size"], columns: ["round", "ms"] },
    timing: { axes: ["seed"], columns: ["rounds"] },
  });
});

Deno.test("every command refuses what a check finds, before it opens a store", async () => {
  using project = toyProject();
  writeStage(project, {
    name: "word",
    declaration: `
const params = z.strictObject({ text: z.string() });
export type Params = z.infer<typeof params>;
export const word = defineStage({
  name: "word",
  params,
  inputs: {},
  outputs: { text: { kind: "file", exactness: "exact" } },
  check: ({ text }) => text === "Bob" ? [{ path: ["text"], message: "must be another" }] : [],
});`,
    run: "export function run(_: StageContext<Params>) {}",
  });
  for (const command of ["plan", "status", "reproduce", "graph"]) {
    const { code, stdout, stderr } = await project.run([command]);
    assertEquals(
      [code, stdout, stderr],
      [2, "", "experiments/toy/experiment.yaml:5: axes.name.bob.word.text: must be another\n"],
    );
  }
});

import { assertEquals, assertRejects } from "@std/assert";
import { z } from "zod";
import { ConfigError } from "../../pipeline/errors.ts";
import { checkInstances } from "../../pipeline/plan/surroundings.ts";
import { defineStage, type Stage } from "../../pipeline/stage.ts";
import { aggregate } from "../../stages/aggregate.ts";
import { loadFiles } from "../rig/experiment.ts";

const measuring = (
  name: string,
  measures: Record<string, string[]>,
  inputs: Stage["inputs"] = {},
) =>
  defineStage({
    name,
    params: z.strictObject({}),
    inputs,
    outputs: { out: { kind: "file", exactness: "exact", measures } },
  });

const stages = [
  measuring("describe", {
    corpora: ["kind", "documents"],
    splits: ["split", "documents"],
  }),
  measuring("measure", { runs: ["accuracy", "documents", "width"], curve: ["epoch", "loss"] }),
  measuring("time", { rounds: ["*", "round", "ms"] }, { models: { many: true } }),
  aggregate,
] as unknown as Stage[];

const FILE = `experiment: x
include: { published: published.csv, claims: claims.yaml }
axes:
  data: { letters: {}, numbers: {} }
  decay: { none: {}, strong: {} }
grid: { data: [letters], decay: [none, strong], seed: [0, 1] }
stages:
  describe: { each: [data] }
  measure: { each: [data, decay, seed] }
  time: { each: [data, seed], inputs: { models: measure.out } }
  aggregate:
    inputs: { measurements: [describe.out, measure.out, time.out] }
    params:
      seeds: seed
      axes:
        decay:
          title: Decay
          baseline: none
          values:
            none: No decay
            strong: Strong decay
      metrics:
        accuracy: { title: Accuracy, same: [documents] }
        latency: { title: Latency, table: rounds, column: ms, within: round }
      published: $published
      claims: $claims
      paper:
        whole: [{ at: { data: letters }, column: documents, value: 5 }]
        size:
          - at: { data: letters }
            equals: { width: 64 }
      tables:
        main:
          caption: Accuracy
          rows: [data]
          across: decay
          columns: [{ metric: accuracy }]
          published: Table 1
        splits:
          caption: Splits
          list: splits
          group: data
          where: { split: test }
          columns: [{ column: data }, { column: documents }]
profiles:
  p: {}
  large: { grid: { data: [numbers] } }
`;

const PUBLISHED = `source,metric,data,decay,against.decay,value
Table 1,accuracy,numbers,none,,90.1
Table 1,accuracy,letters,strong,none,2
`;

const CLAIMS = `- id: C1
  statement: Strong decay helps
  metric: accuracy
  at: { data: letters }
  against: { decay: none }
  smallest: 1
  tolerance: 2
  compare:
    - at: { decay: strong }
      printed: Table 1
- id: C2
  statement: Strong decay costs nothing
  metric: latency
  test: equivalence
  smallest: 1
  at: { data: letters, decay: strong }
  against: { decay: none }
  over: { seed: [0] }
`;

const FILES = { "experiment.yaml": FILE, "published.csv": PUBLISHED, "claims.yaml": CLAIMS };

async function check(files: Readonly<Record<string, string>>) {
  const { experiment, graph } = loadFiles(files, stages);
  await checkInstances(graph, experiment);
}

Deno.test("an experiment that names what is there passes, values of other profiles included", async () => {
  await check(FILES);
});

/** An edit of one file, and what is said of it, at the line that was edited. */
const MISSPELT:
  readonly (readonly [file: keyof typeof FILES, from: string, to: string, says: string])[] = [
    ["experiment.yaml", "seeds: seed", "seeds: sed", 'no axis "sed"; did you mean "seed"?'],
    [
      "experiment.yaml",
      "        decay:\n",
      "        decoy:\n",
      'no axis "decoy"; did you mean "decay"?',
    ],
    [
      "experiment.yaml",
      "baseline: none",
      "baseline: nome",
      'no value of decay "nome"; did you mean "none"?',
    ],
    [
      "experiment.yaml",
      "strong: Strong",
      "stronk: Strong",
      'no value of decay "stronk"; did you mean "strong"?',
    ],
    [
      "experiment.yaml",
      "accuracy: { title",
      "acuracy: { title",
      'no column "acuracy"; did you mean "accuracy"?',
    ],
    [
      "experiment.yaml",
      "same: [documents]",
      "same: [document]",
      'no column "document"; did you mean "documents"?',
    ],
    [
      "experiment.yaml",
      "table: rounds",
      "table: round",
      'no table among what the inputs measure, "round"',
    ],
    ["experiment.yaml", "column: ms", "column: mss", 'no column "mss"; did you mean "ms"?'],
    ["experiment.yaml", "within: round", "within: rond", 'no column "rond"; did you mean "round"?'],
    [
      "experiment.yaml",
      "whole: [{ at: { data: letters }",
      "whole: [{ at: { data: letter }",
      'no value of data "letter"',
    ],
    ["experiment.yaml", "width: 64", "with: 64", 'no column "with"; did you mean "width"?'],
    ["experiment.yaml", "rows: [data]", "rows: [date]", 'no axis "date"; did you mean "data"?'],
    [
      "experiment.yaml",
      "across: decay",
      "across: deccay",
      'no axis "deccay"; did you mean "decay"?',
    ],
    [
      "experiment.yaml",
      "columns: [{ metric: accuracy",
      "columns: [{ metric: acuracy",
      'no metric "acuracy"',
    ],
    [
      "experiment.yaml",
      "published: Table 1",
      "published: Table 2",
      'no published source "Table 2"',
    ],
    [
      "experiment.yaml",
      "list: splits",
      "list: split",
      'no table among what the inputs measure, "split"',
    ],
    [
      "experiment.yaml",
      "group: data",
      "group: decay",
      'does not vary over "decay"; it does over data',
    ],
    [
      "experiment.yaml",
      "{ column: documents }]\n",
      "{ column: docments }]\n",
      'no column "docments"',
    ],
    ["published.csv", "Table 1,accuracy,numbers", "Table 1,acuracy,numbers", 'no metric "acuracy"'],
    ["published.csv", "accuracy,numbers", "accuracy,number", 'no value of data "number"'],
    ["published.csv", "strong,none,2", "strong,nome,2", 'no value of decay "nome"'],
    ["claims.yaml", "metric: accuracy", "metric: acuracy", 'no metric "acuracy"'],
    [
      "claims.yaml",
      "at: { data: letters }\n",
      "at: { data: leters }\n",
      'no value of data "leters"',
    ],
    [
      "claims.yaml",
      "{ decay: none }\n  smallest: 1\n  tolerance",
      "{ deca: none }\n  smallest: 1\n  tolerance",
      'no axis "deca"',
    ],
    [
      "claims.yaml",
      "- at: { decay: strong }",
      "- at: { decay: stron }",
      'no value of decay "stron"',
    ],
    ["claims.yaml", "printed: Table 1", "printed: Table 9", 'no published source "Table 9"'],
    ["claims.yaml", "over: { seed: [0] }", "over: { seed: [7] }", 'no value of seed "7"'],
    ["claims.yaml", "- id: C2", "- id: C1", 'two claims are called "C1"'],
  ];

for (const [file, from, to, says] of MISSPELT) {
  Deno.test(`${to.trim()}: ${says}`, async () => {
    const text = FILES[file];
    const files = { ...FILES, [file]: text.replace(from, to) };
    const { message } = await assertRejects(() => check(files), ConfigError);
    const start = text.slice(0, text.indexOf(from) + from.length - from.trimStart().length);
    // The edit may begin a line above what is named.
    const lines = [start.split("\n").length, start.split("\n").length + 1];
    const [first] = message.split("\n");
    assertEquals(first!.includes(says), true, message);
    assertEquals(
      lines.some((line) => first!.startsWith(`experiments/x/${file}:${line}:`)),
      true,
      message,
    );
  });
}

Deno.test("a comparison must name a value of every axis of its metric's runs", async () => {
  const claims = CLAIMS.replace("  at: { data: letters }\n", "");
  const { message } = await assertRejects(
    () => check({ ...FILES, "claims.yaml": claims }),
    ConfigError,
  );
  assertEquals(
    message.includes(
      "at must name a value of every axis of the metric's runs but seed, found none of data; name " +
        "it, or average over its values with over",
    ),
    true,
    message,
  );
});

Deno.test("a claim that lacks what its test needs is refused before anything runs", async () => {
  const claims = CLAIMS.replace("  test: equivalence\n  smallest: 1\n", "  test: equivalence\n");
  const { message } = await assertRejects(
    () => check({ ...FILES, "claims.yaml": claims }),
    ConfigError,
  );
  assertEquals(
    message.split("\n")[0],
    "experiments/x/claims.yaml:11: 1: the test equivalence needs smallest, found none",
  );
});

Deno.test("a plan says how likely each verdict is, from the printed numbers and this run's seeds", async () => {
  const published = "source,metric,decay,value,spread\nTable 1,accuracy,none,80,1\n" +
    "Table 1,accuracy,strong,90,1\n";
  const preview = async (seeds: number) => {
    const params = aggregate.params.parse({
      metrics: { accuracy: { title: "Accuracy" } },
      published: published.split("\n").slice(1, 3).map((line) => {
        const [source, metric, decay, value, spread] = line.split(",");
        return { source, metric, decay, value, spread };
      }),
      claims: [{
        id: "C1",
        statement: "It helps by ten points",
        metric: "accuracy",
        at: { decay: "strong" },
        against: { decay: "none" },
        printed: "Table 1",
        smallest: 1,
        tolerance: 5,
      }],
    });
    const grid = { seed: Array.from({ length: seeds }, (_, seed) => String(seed)) };
    const said = await aggregate.preview!(params, { axes: {}, grid, inputs: {} });
    return said as Exclude<typeof said, readonly string[]>;
  };
  const { columns, rows } = await preview(5);
  assertEquals(columns.slice(0, 3), ["Claim", "Seeds", "If"]);
  // A difference of seven standard errors of a difference: the paper's verdict is all but certain.
  const reproduced = columns.indexOf("Reproduced");
  assertEquals(rows[0]!.slice(0, 3), ["C1", "5", "the paper is exactly right"]);
  assertEquals([rows[0]![reproduced], rows[1]![reproduced]], ["100 %", "0 %"]);
});

import { assertEquals } from "@std/assert";
import { copyOfThisProject } from "./rig/this_project.ts";

/** Trains in no time. */
const TINY = `
  tiny:
    grid:
      { dataset: [short, medium], seed: [0, 1], encoding: [sinusoidal], operator: [add, concat] }
    exclude: []
    stages:
      tokenize: { params: { subset: { train: 60, test: 20 }, max_length: 64 } }
      train: { params: { d_model: 8, heads: 2, layers: 1, d_ff: 8, batch: 20, epochs: 1 } }
    axes:
      dataset:
        short: { train: { learning_rate: 1e-3 } }
        medium: { train: { learning_rate: 1e-3 } }
`;

/** Every instance of a stage in the tiny profile. */
function all(stage: string, datasets = ["medium", "short"], seeds = [0, 1]): string[] {
  return datasets.flatMap((dataset) =>
    ["add", "concat"].flatMap((operator) =>
      seeds.map((seed) => `${stage}/${dataset}/sinusoidal/${operator}/${seed}`)
    )
  );
}

/** Operators are timed beside each other: one instance for each dataset and seed. */
function timings(datasets = ["medium", "short"], seeds = [0, 1]): string[] {
  return datasets.flatMap((dataset) => seeds.map((seed) => `latency/${dataset}/${seed}`));
}

const RESULTS = ["aggregate", "timings", "plot", "plot_timings", "report"];
const YAML = "experiments/fusion/experiment.yaml";

Deno.test("in this project each edit re-runs exactly what it can change", async () => {
  using project = copyOfThisProject(TINY);
  const run = () => project.executed("--profile", "tiny", "--backend", "wasm");
  const whole = [
    ...RESULTS,
    "download/medium",
    "download/short",
    "tokenize/medium",
    "tokenize/short",
    ...all("train"),
    ...all("evaluate"),
    ...timings(),
  ];
  assertEquals(await run(), whole.sort());
  const table: [what: string, edit: () => void, expected: string[]][] = [
    [
      "the learning rate of one dataset",
      () =>
        project.edit(
          YAML,
          "        short: { train: { learning_rate: 1e-3 } }",
          "        short: { train: { learning_rate: 2e-3 } }",
        ),
      [
        ...all("train", ["short"]),
        ...all("evaluate", ["short"]),
        ...timings(["short"]),
        ...RESULTS,
      ],
    ],
    [
      "a plot's title",
      () =>
        project.edit(
          "experiments/fusion/figures.yaml",
          "title: Learning curves",
          "title: How the models learned",
        ),
      ["plot", "report"],
    ],
    ["a comment and a renamed local in the train stage", () => {
      const text = project.read("stages/train.run.ts");
      const local = /\n {2}const (\w+) = /.exec(text)![1]!;
      const renamed = text.replaceAll(
        new RegExp(`(?<![.\\w"])${local}\\b(?!["\\w])`, "g"),
        "renamedLocal",
      );
      project.write("stages/train.run.ts", `// A comment.\n${renamed}`);
    }, []],
    [
      "a measurement that only evaluate takes",
      () =>
        project.edit(
          "stages/evaluate.run.ts",
          "majority_share:",
          "zero: 0,\n      majority_share:",
        ),
      [...all("evaluate"), ...RESULTS],
    ],
    [
      "the text of a report",
      () => project.edit("experiments/fusion/report.md", "holds the encoder", "keeps the encoder"),
      ["report"],
    ],
    [
      "a claim on accuracies",
      () =>
        project.edit(
          "experiments/fusion/claims.yaml",
          "beats addition by about",
          "beats it by about",
        ),
      // The timings' claims are corrected for these too, and come out as they were. No figure shows one.
      ["aggregate", "timings", "report"],
    ],
    ["a tokenizer option that changes no token: cut off", () => {
      project.edit(
        YAML,
        "max_length: 64 } }\n      train: { params: { d_model: 8",
        "max_length: 63 } }\n      train: { params: { d_model: 8",
      );
    }, ["tokenize/medium", "tokenize/short"]],
    [
      "another seed",
      () =>
        project.edit(
          YAML,
          "dataset: [short, medium], seed: [0, 1]",
          "dataset: [short, medium], seed: [0, 1, 2]",
        ),
      [
        ...all("train", undefined, [2]),
        ...all("evaluate", undefined, [2]),
        ...timings(undefined, [2]),
        ...RESULTS,
      ],
    ],
    [
      "a seed less",
      () =>
        project.edit(
          YAML,
          "dataset: [short, medium], seed: [0, 1, 2]",
          "dataset: [short, medium], seed: [0, 2]",
        ),
      RESULTS,
    ],
  ];
  for (const [what, edit, expected] of table) {
    edit();
    assertEquals(await run(), expected.toSorted(), what);
  }
});

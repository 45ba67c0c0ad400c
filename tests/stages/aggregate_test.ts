import { assert, assertEquals } from "@std/assert";
import type { Results, Shown } from "../../analysis/results.ts";
import { sourceOf } from "../../analysis/results.ts";
import type { Artifact } from "../../pipeline/stage.ts";
import { aggregate } from "../../stages/aggregate.ts";
import { measured } from "../analysis/tidy/measured.ts";
import { runStage } from "../rig/run_stage.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const params = {
  title: "Does decay matter?",
  axes: {
    decay: { title: "Decay", baseline: "none", values: { none: "No decay", strong: "Strong" } },
  },
  metrics: {
    accuracy: { title: "Accuracy", unit: "percent", scale: 100, better: "greater" },
  },
  claims: [{
    id: "C1",
    statement: "Strong decay helps",
    source: "own",
    metric: "accuracy",
    at: { decay: "strong" },
    against: { decay: "none" },
    smallest: 1,
  }],
  tables: {
    main: { caption: "Accuracy", rows: ["decay"], columns: [{ metric: "accuracy" }] },
    runs_again: {
      caption: "Steps",
      list: "runs",
      columns: [{ column: "decay" }, { column: "steps" }],
    },
  },
};

/** What an axis that no code knows makes: an evaluation and a training for each seed. */
function inputs(gains: readonly number[]): Artifact[] {
  return gains.flatMap((gain, seed) =>
    [["none", 0.5 + seed / 1000], ["strong", 0.5 + seed / 1000 + gain]].flatMap(
      ([decay, accuracy]) => {
        const at = { decay: String(decay), seed: String(seed) };
        return [
          measured(at, { runs: { accuracy: [Number(accuracy)] } }),
          measured(at, {
            runs: { steps: [10 * seed + (decay === "none" ? 0 : 1)] },
            curve: { epoch: [1, 2], loss: [2, 1] },
          }),
        ];
      },
    )
  );
}

async function aggregated(measurements: readonly Artifact[], own: unknown = params) {
  const directory = temporaryFolder();
  const { outputs } = await runStage(aggregate, own, { directory, inputs: { measurements } });
  const read = (name: string) => Deno.readTextFileSync(outputs[name]!);
  return {
    text: read("results"),
    results: { ...JSON.parse(read("results")), ...JSON.parse(read("shown")) } as Results,
    sources: (JSON.parse(read("shown")) as Shown).sources,
  };
}

Deno.test("a grid over an axis that no code knows ends with a verdict and tables", async () => {
  const { results } = await aggregated(inputs([0.03, 0.031, 0.029, 0.03]));
  assertEquals(results.study.axes.map(({ name }) => name), ["decay", "seed"]);
  assertEquals(results.study.tidy["runs"]!.length, 8);
  assertEquals(results.study.tidy["curve"]!.length, 16);
  assertEquals(results.claims.map(({ id, verdict }) => [id, verdict]), [["C1", "reproduced"]]);
  assertEquals(results.missing, []);
  assertEquals(results.tables[0]!.rows.map(({ cells: [cell] }) => cell), ["No decay", "Strong"]);
  const rows = (id: string) => results.tables.find((table) => table.id === id)!.data.rows.length;
  assertEquals(["main", "claims", "runs_again"].map(rows), [2, 1, 8]);
});

Deno.test("every number leads to the artifact that it was read from", async () => {
  const files = inputs([0.03, 0.03]);
  const { results, sources } = await aggregated(files);
  const runs = results.study.tidy["runs"]!;
  for (let row = 0; row < runs.length; row++) {
    for (const column of ["accuracy", "steps"]) {
      const sha256 = sourceOf(sources, { table: "runs", row, column });
      const file = files.find((each) => each.sha256 === sha256)!;
      assertEquals<unknown>(file.at, {
        decay: runs.columns["decay"]![row],
        seed: runs.columns["seed"]![row],
      });
      const [value] = JSON.parse(Deno.readTextFileSync(file.path)).tables.runs[column];
      assertEquals(value, runs.columns[column]![row]);
    }
  }
});

Deno.test("the results hold no digest: bytes that no number rests on redraw nothing", async () => {
  const { text } = await aggregated(inputs([0.03, 0.03]));
  assert(!/[0-9a-f]{64}/.test(text));
});

Deno.test("a claim, a caption or a table that is edited leaves the results that figures are drawn of", async () => {
  const files = inputs([0.03, 0.03]);
  const before = await aggregated(files);
  const { main } = params.tables;
  const edited = await aggregated(files, {
    ...params,
    claims: [{ ...params.claims[0], statement: "Strong decay helps much", smallest: 2 }],
    tables: { main: { ...main, caption: "Accuracy, in percent" } },
  });
  assertEquals(edited.text, before.text);
  assert(edited.results.tables[0]!.caption !== before.results.tables[0]!.caption);
  const axes = { decay: { ...params.axes.decay, values: { none: "None", strong: "Strong" } } };
  // Labels are drawn.
  assert((await aggregated(files, { ...params, axes })).text !== before.text);
});

Deno.test("a report can be made of an incomplete grid, and what is missing is named", async () => {
  const all = inputs([0.03, 0.03, 0.03]);
  const grid = {
    values: { decay: ["none", "strong"], seed: ["0", "1", "2"] },
    each: [["decay", "seed"], ["decay", "seed"]],
  };
  const { results } = await aggregated(
    all.filter(({ at }) => at["decay"] !== "strong" || at["seed"] !== "2"),
    { ...params, grid },
  );
  assertEquals(results.missing, [{ decay: "strong", seed: "2" }]);
  const none = await aggregated([]);
  assertEquals(none.results.claims.map(({ verdict }) => verdict), ["not run"]);
});

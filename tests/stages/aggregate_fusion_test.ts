import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { parse } from "@std/csv";
import { join } from "node:path";
import { aggregateFusion as aggregate } from "../../stages/aggregate_fusion.ts";
import type { Artifact } from "../../pipeline/stage.ts";
import { pageHtml } from "../../stages/results/page/page.ts";
import type { Results } from "../../stages/results/results.ts";
import { runStage } from "../rig/run_stage.ts";
import { checkTables } from "./results/check_tables.ts";
import { AG, ARXIV, type MadeUp, madeUpInputs, NO_LATENCIES, SHORT } from "./results/made_up.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const published = {
  table1: {
    ag_news: { add: [91.15, 0.08], concat: [90.93, 0.11], gate_scalar: [91.07, 0.09] },
    arxiv: { add: [59.22, 0.32], concat: [63.44, 0.28], gate_scalar: [65.73, 0.30] },
    short: { add: [99.99, 0.01] },
  },
};

async function aggregated(grids: readonly MadeUp[], params: unknown = { published }) {
  const folder = temporaryFolder();
  const inputs = madeUpInputs(folder, grids);
  const run = await runStage(aggregate, params, { directory: folder, inputs });
  const text = Deno.readTextFileSync(run.outputs["results"]!);
  const tables = run.outputs["tables"]!;
  const table = (name: string) => Deno.readTextFileSync(join(tables, name));
  return {
    results: JSON.parse(text) as Results,
    text,
    table,
    tables,
    inputs,
    metrics: run.metrics,
  };
}

Deno.test("aggregate pairs runs by seed and gives the interval SciPy gives", async () => {
  const { results } = await aggregated([ARXIV]);
  const delta = results.deltas.find((each) => each.operator === "gate_scalar")!;
  assertEquals(delta.pairs.map((pair) => pair.delta), [0.095, 0.0255, 0.0367, 0.0783, 0.0902]);
  assertAlmostEquals(delta.mean, 0.06514, 1e-15);
  // scipy.stats.t.interval(0.95, 4, loc=0.06514, scale=sem of the five deltas)
  assertAlmostEquals(delta.interval![0], 0.025518601041609884, 1e-12);
  assertAlmostEquals(delta.interval![1], 0.10476139895839012, 1e-12);
  assertEquals([delta.positive, delta.negative], [5, 0]);
});

Deno.test("aggregate puts published numbers beside corresponding data only", async () => {
  const { results, table } = await aggregated([AG, ARXIV, SHORT]);
  for (const cell of results.conditions) {
    assertEquals(cell.published.length === 0, cell.dataset === "short", cell.dataset);
  }
  const lines = table("table1.md").split("\n");
  assert(
    lines.includes(
      "| AG News | This run: sample of the data, n = 5 | 91.19 ± 0.10 | 90.97 ± 0.42 | 91.11 ± 0.25 |",
    ),
    table("table1.md"),
  );
  assert(lines.includes("|  | Paper, as printed | 91.15 ± 0.08 | 90.93 ± 0.11 | 91.07 ± 0.09 |"));
  const at = lines.findIndex((line) => line.startsWith("| Synthetic, short | This run: synthetic"));
  assert(at > 0 && !lines[at + 1]!.includes("Paper"));
  assert(!table("table1.md").includes("99.99"));
});

Deno.test("aggregate orders datasets from short to long, synthetic ones last", async () => {
  const { results } = await aggregated([SHORT, ARXIV, AG]);
  assertEquals(results.datasets.map((entry) => entry.dataset), ["ag_news", "arxiv", "short"]);
  assertEquals(results.operators, ["add", "concat", "gate_scalar"]);
});

Deno.test("aggregate writes the same bytes whatever order its inputs come in", async () => {
  const folder = temporaryFolder();
  const inputs = madeUpInputs(folder, [AG, ARXIV, SHORT]);
  const reversed = Object.fromEntries(
    Object.entries(inputs).map(([name, list]) => [name, list.toReversed()]),
  );
  const texts = [];
  for (const given of [inputs, reversed]) {
    const run = await runStage(aggregate, { published }, { directory: folder, inputs: given });
    for (const name of ["results", "sources"]) {
      texts.push(Deno.readTextFileSync(run.outputs[name]!));
    }
  }
  assertEquals(texts.slice(0, 2), texts.slice(2));
  assert(texts[0]!.endsWith("}\n"));
});

Deno.test("one seed has no interval and the tables say so", async () => {
  const one = { ...AG, correct: { add: [6930], gate_scalar: [6943] } };
  const { results, table } = await aggregated([one]);
  assertEquals(results.conditions[0]!.interval, null);
  assertEquals(results.deltas[0]!.sd, null);
  assert(table("table1.md").includes("91.18 (1 seed)"));
  assert(table("deltas.md").includes("needs 2 seeds"));
});

Deno.test("missing runs are listed and only complete pairs count", async () => {
  const gap = { ...AG, correct: { add: [6930, null, 6941], gate_scalar: [6943, 6909, 6918] } };
  const { results } = await aggregated([gap]);
  assertEquals(results.missing, [{
    dataset: "ag_news",
    encoding: "sinusoidal",
    operator: "add",
    seed: 1,
  }]);
  assertEquals(results.deltas[0]!.pairs.map((pair) => pair.seed), [0, 2]);
});

Deno.test("a subset of an official file is a sample, not the full data", async () => {
  // ARXIV has 50,000 made-up documents in its two splits.
  for (
    const [whole, kind] of [[50000, "official"], [50400, "official"], [90000, "sample"]] as const
  ) {
    const { results, table } = await aggregated([ARXIV], { paper_documents: { arxiv: whole } });
    const source = results.datasets[0]!.corpus!.source;
    assertEquals(source.kind, kind, `of ${whole}`);
    assertEquals(source.note.includes("Only 50000 of the 90000"), kind === "sample");
    assertEquals(table("table1.md").includes("This run: full data"), kind === "official");
  }
});

Deno.test("a corpus of which a subset was taken is a sample, whatever is known of the whole", async () => {
  const folder = temporaryFolder();
  const inputs = madeUpInputs(folder, [ARXIV]);
  const [{ path }] = inputs["corpora"] as [Artifact];
  const corpus = JSON.parse(Deno.readTextFileSync(path));
  corpus.splits.train.available = corpus.splits.train.documents + 1;
  Deno.writeTextFileSync(path, JSON.stringify(corpus));
  const { outputs } = await runStage(aggregate, { published }, { directory: folder, inputs });
  const results = JSON.parse(Deno.readTextFileSync(outputs["results"]!)) as Results;
  const { source } = results.datasets[0]!.corpus!;
  assertEquals(source.kind, "sample");
  assert(source.note.includes("Only 50000 of the 50001 documents were used."), source.note);
  const page = pageHtml(results, {
    latencies: NO_LATENCIES,
    latenciesSha256: "",
    figures: [],
    tableFiles: [],
    resultsSha256: "",
    trace: () => undefined,
  });
  assert(/40.000 of 40.001/.test(page));
  assert(!page.includes("full data"));
});

Deno.test("several encodings make a table of the paper's third table's shape", async () => {
  const learned = { ...ARXIV, encoding: "learned" };
  const table1 = { arxiv: { add: [59.22, 0.32], gate_scalar: [65.73, 0.3] } };
  const table2 = { arxiv: { add: [62], concat: [64] } };
  const table3 = { arxiv: { "learned.add": [62.29, 3.24], "sinusoidal.add": [59.22, 1.07] } };
  const folder = temporaryFolder();
  const first = madeUpInputs(folder, [ARXIV]);
  const second = madeUpInputs(folder, [learned]);
  const inputs = {
    runs: [...first.runs, ...second.runs],
    histories: [...first.histories, ...second.histories],
    corpora: first.corpora,
  };
  const published = { table1, table2, table3 };
  const run = await runStage(aggregate, { published }, { directory: folder, inputs });
  const lines = Deno.readTextFileSync(join(run.outputs["tables"]!, "table3.md")).split("\n");
  const at = lines.findIndex((line) =>
    line.startsWith("| Learned | This run: full data, n = 5 | 59.22 ± 0.26")
  );
  assert(at > 0, lines.join("\n"));
  assertEquals(lines[at + 1], "|  | Paper, as printed | 62.29 ± 3.24 | – | – |");
  // Another table's number only where the third has none.
  assertEquals(lines[at - 1], "|  | Paper, as printed | 59.22 ± 1.07 | about 64 | 65.73 ± 0.30 |");
  const results = JSON.parse(Deno.readTextFileSync(run.outputs["results"]!)) as Results;
  // 64 − 62 from the second table, not 64 − 59.22 from two; 65.73 − 59.22 from the first.
  const printed = results.deltas.filter((each) => each.encoding === "sinusoidal")
    .map((each) => Math.round(each.published! * 1e4));
  assertEquals(printed, [200, 651]);
});

Deno.test("no run at all still makes a document", async () => {
  const { results } = await aggregated([], {});
  assertEquals(results.conditions, []);
});

Deno.test("runs that differ in nothing known are refused", async () => {
  await assertRejects(
    () => aggregated([AG, { ...AG, title: "again" }]),
    Error,
    "must differ between runs, found two of ag_news/sinusoidal/add/0",
  );
});

Deno.test("a malformed artifact is refused by its field", async () => {
  const folder = temporaryFolder();
  const inputs = madeUpInputs(folder, [SHORT]);
  Deno.writeTextFileSync(inputs.runs[0]!.path, '{"fusion":"add"}');
  await assertRejects(
    () => runStage(aggregate, {}, { directory: folder, inputs }),
    Error,
    'its field "encoding" is wrong',
  );
});

Deno.test("every table is there as Markdown, LaTeX and CSV, whatever its cells hold", async () => {
  const evil = "[*] 50 % {a}_b^c~d #1 & $x$ \\| <b>";
  const { tables } = await aggregated([{ ...AG, title: evil }, ARXIV, SHORT], {
    published,
    claims: [{ id: "A1", statement: evil, compare: [{ dataset: "arxiv", operator: "concat" }] }],
    paper_deltas: [{ figure: "1", dataset: "arxiv", operator: "concat", deltas: [1, 2, 3, 4, 5] }],
  });
  assertEquals(checkTables(tables), [
    ...["claims", "comparisons", "deltas", "every_pair", "every_run", "lengths"],
    ...["paper_consistency", "paper_figures", "paper_tables", "table1"],
  ]);
});

Deno.test("the CSV of differences holds what SciPy gives, that of pairs each seed's", async () => {
  const { table } = await aggregated([ARXIV]);
  const rows = (name: string) => {
    const [head, ...rest] = parse(table(name));
    return rest.map((row) => Object.fromEntries(row.map((cell, index) => [head![index]!, cell])));
  };
  const gate = (row: Record<string, string>) => row["operator"] === "gate_scalar";
  const delta = rows("deltas.csv").find(gate)!;
  assertAlmostEquals(Number(delta["delta_mean"]), 0.06514, 1e-15);
  assertAlmostEquals(Number(delta["interval_low"]), 0.025518601041609884, 1e-12);
  const pairs = rows("every_pair.csv").filter(gate).map((row) => Number(row["delta"]));
  assertEquals(pairs, [0.095, 0.0255, 0.0367, 0.0783, 0.0902]);
});

Deno.test("the CSV holds unrounded numbers and the LaTeX escapes what it must", async () => {
  const { table, results } = await aggregated([{ ...ARXIV, title: "50 % of A_B & C" }]);
  const [header, first] = table("table1.csv").split("\n");
  assertEquals(
    header!.split(",").slice(0, 6).join(),
    "dataset,data_kind,encoding,operator,seeds,accuracy_mean",
  );
  assertEquals(Number(first!.split(",")[5]), results.conditions[0]!.mean);
  assert(table("table1.tex").includes("50 \\% of A\\_B \\& C & This run: full data, n = 5"));
});

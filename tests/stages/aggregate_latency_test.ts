import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { parse } from "@std/yaml";
import { aggregateFusion as aggregate } from "../../stages/aggregate_fusion.ts";
import type { Latencies } from "../../stages/results/latency/latencies.ts";
import { artifact, runStage } from "../rig/run_stage.ts";
import { checkTables } from "./results/check_tables.ts";
import {
  ARXIV,
  gatheredLatencies,
  type MadeUp,
  madeUpInputs,
  type MadeUpTimes,
  SHORT,
} from "./results/made_up.ts";
import { temporaryFolder } from "../rig/temporary.ts";

const yaml = (name: string) =>
  parse(Deno.readTextFileSync(new URL(`../../experiments/fusion/${name}.yaml`, import.meta.url)));
const printed = yaml("published") as {
  latencies: unknown;
  tables: { table2: unknown };
};
const params = {
  published: printed.latencies,
  accuracies: printed.tables.table2,
  claims: yaml("claims"),
};

/** Five seeds, three rounds; the second round is a slow one for all. */
function times(changes: Readonly<Record<string, number>>): MadeUpTimes["passMs"] {
  return Object.fromEntries(
    Object.entries(changes).map(([operator, change]) => [
      operator,
      [0, 1, 2, 3, 4].map((seed) =>
        [1, 3, 1.01].map((slow) =>
          (1000 + 50 * seed) * slow * (1 + change + (operator === "add" ? 0 : seed / 10000))
        )
      ),
    ]),
  );
}

const RISING: MadeUpTimes = {
  dataset: "arxiv",
  passMs: times({ add: 0, gate_cnn: 0.02, gate_scalar: 0.05 }),
};

async function timed(
  grids: readonly MadeUpTimes[],
  options: { readonly data?: readonly MadeUp[]; readonly reversed?: boolean } = {},
) {
  const directory = temporaryFolder();
  const inputs = madeUpInputs(directory, options.data ?? [ARXIV]);
  const gathered = await runStage(aggregate, {}, { directory, inputs });
  const { latencies, latency_tables } = await gatheredLatencies(
    artifact(gathered.outputs["results"]!),
    { grids: options.reversed ? grids.toReversed() : grids, params },
  );
  const text = Deno.readTextFileSync(latencies.path);
  return {
    text,
    latencies: JSON.parse(text) as Latencies,
    table: (name: string) => Deno.readTextFileSync(latency_tables.files.get(name)!),
    tables: latency_tables.path,
    claim: (JSON.parse(text) as Latencies).claims[0]!,
  };
}

Deno.test("latencies are medians over rounds, differences are taken within a round and by seed", async () => {
  const { latencies } = await timed([RISING]);
  assertEquals(latencies.conditions.map((each) => each.operator), [
    "add",
    "gate_scalar",
    "gate_cnn",
  ]);
  const [add, gate] = latencies.conditions;
  // Passes of two batches: medians 505, 530.25, … of (1000 + 50 · seed) · (1, 3, 1.01) / 2.
  assertEquals(add!.runs.map((run) => run.median), [505, 530.25, 555.5, 580.75, 606]);
  assertAlmostEquals(add!.mean, 555.5, 1e-9);
  assertAlmostEquals(add!.msPerDocument, 555.5 / 64, 1e-9);
  assertEquals([add!.runs[0]!.least, add!.runs[0]!.most], [500, 1500]);
  assertAlmostEquals(add!.runs[0]!.mean, 835, 1e-9);
  assertEquals(add!.change, null);
  // 5 % and one hundredth of a percent more each seed; the slow round leaves no trace.
  assertAlmostEquals(gate!.change!.mean, 0.0502, 1e-12);
  assertAlmostEquals(gate!.change!.sd!, Math.sqrt(2.5e-8), 1e-12);
  assertEquals(gate!.change!.n, 5);
});

Deno.test("the paper's order of latencies is reproduced if seeds agree on it, else contradicted", async () => {
  const { claim, table } = await timed([RISING]);
  assertEquals([claim.id, claim.verdict, claim.holds], ["A7", "reproduced", true]);
  assert(table("claims.md").includes("| reproduced | yes | the full data, on this machine |"));
  assert(
    table("comparisons.md").includes("| A7 | Latency, ArXiv-11, Sinusoidal: Gate-CNN − Add |"),
  );
  assertEquals(claim.comparisons.map((each) => each.n), [5, 5]);
  assertAlmostEquals(claim.comparisons[1]!.mean!, 0.05 / 1.02 - 0.02 / 1.02, 1e-4);
  const swapped = { add: 0, gate_cnn: 0.05, gate_scalar: 0.02 };
  const other = await timed([{ ...RISING, passMs: times(swapped) }]);
  assertEquals(other.claim.comparisons.map((each) => each.verdict), [
    "reproduced",
    "contradicted",
  ]);
  assertEquals([other.claim.verdict, other.claim.holds], ["contradicted", false]);
});

Deno.test("one process decides nothing, however many rounds it took", async () => {
  const passMs = Object.fromEntries(
    Object.entries(RISING.passMs).map(([operator, [first]]) => [operator, [first!]]),
  );
  const { claim, table } = await timed([{ ...RISING, passMs }]);
  assertEquals([claim.verdict, claim.holds], ["underpowered", null]);
  assert(table("table2.md").includes("| 505 (1 seed) |"), table("table2.md"));
});

Deno.test("only models and batches of the paper's size, on data that is not synthetic, are evidence", async () => {
  const others: [MadeUpTimes, readonly MadeUp[]][] = [
    [{ ...RISING, maxLength: 384 }, [ARXIV]],
    [{ ...RISING, batch: 32 }, [ARXIV]],
    [RISING, [{ ...ARXIV, kind: "synthetic" }]],
    [{ ...RISING, dataset: "short" }, [SHORT]],
  ];
  for (const [times, data] of others) {
    const { claim } = await timed([times], { data });
    assertEquals(claim.verdict, "not run");
    assertEquals(claim.note, "No model of the paper's size was timed on its data.");
  }
  const { table } = await timed([{ ...RISING, maxLength: 384 }]);
  assert(table("table2.md").includes("full data, another batch or size than the paper's"));
});

Deno.test("every table is there as Markdown, LaTeX and CSV", async () => {
  const { tables } = await timed([RISING]);
  assertEquals(checkTables(tables), ["claims", "comparisons", "table2", "timings"]);
});

Deno.test("Table 2 has the accuracy, the latency and what the paper says of both", async () => {
  const { table } = await timed([RISING]);
  const row = table("table2.md").split("\n").find((line) => line.includes("Gate-Scalar"))!;
  const [, operator, accuracy, ms, , change, paperAccuracy, paperLatency] = row.split(" | ");
  assertEquals(operator, "Gate-Scalar");
  assertEquals(accuracy!.split(" ± ")[0], "65.73");
  assertEquals(ms!.split(" ± ")[0], "583");
  assertEquals(change, "+5.0 \\[+5.0, +5.0\\]");
  assertEquals(paperAccuracy, "about 67");
  assertEquals(paperLatency, "highest; 902 ms |");
  const synthetic = await timed([{ ...RISING, dataset: "short" }], { data: [SHORT] });
  assert(!synthetic.table("table2.md").includes("Paper"));
});

Deno.test("the order in which timings arrive does not show, and models that meet twice are refused", async () => {
  const short = { ...RISING, dataset: "short" };
  const data = [ARXIV, SHORT];
  assertEquals(
    (await timed([RISING, short], { data, reversed: true })).text,
    (await timed([RISING, short], { data })).text,
  );
  await assertRejects(
    () => timed([RISING, RISING]),
    Error,
    "found two of arxiv/sinusoidal/add/0",
  );
});

Deno.test("where nothing was timed there is a document, and the claim stays open", async () => {
  const { latencies, claim } = await timed([]);
  assertEquals(latencies.conditions, []);
  assertEquals(claim.verdict, "not run");
});

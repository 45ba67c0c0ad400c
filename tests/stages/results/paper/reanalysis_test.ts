import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { parse } from "@std/yaml";
import { z } from "zod";
import { claimSchema } from "../../../../stages/results/claims/claim.ts";
import {
  paperLatencySchema,
  type PaperNumbers,
  seriesSchema,
  tablesSchema,
} from "../../../../stages/results/paper/numbers.ts";
import { reanalyse } from "../../../../stages/results/paper/reanalysis.ts";
import { cellsOf } from "../../../../stages/results/paper/cells.ts";
import { canonical } from "../../../../pipeline/key/canonical.ts";

const read = (name: string) =>
  parse(
    Deno.readTextFileSync(new URL(`../../../../experiments/fusion/${name}`, import.meta.url)),
  );
const printed = read("published.yaml") as Record<"tables" | "deltas" | "latencies", unknown>;
const PAPER: PaperNumbers = {
  tables: tablesSchema.parse(printed.tables),
  series: z.array(seriesSchema).parse(printed.deltas),
  latencies: z.array(paperLatencySchema).parse(printed.latencies),
  claims: z.array(claimSchema).parse(read("claims.yaml")),
  seeds: 5,
  baseline: "add",
  alpha: 0.05,
};

function findings(changes: Partial<PaperNumbers> = {}): { agrees: boolean; text: string }[] {
  return reanalyse({ ...PAPER, ...changes }).findings;
}

Deno.test("the scalar gate's gain on ArXiv has SciPy's interval and p-value", () => {
  const [gate] = reanalyse(PAPER).series;
  assertAlmostEquals(gate!.mean!, 0.06514, 1e-12);
  // scipy.stats.ttest_1samp and t.interval of Figure 3's five values
  assertAlmostEquals(gate!.interval![0], 0.025518601041609884, 1e-12);
  assertAlmostEquals(gate!.interval![1], 0.10476139895839012, 1e-12);
  assertAlmostEquals(gate!.p!, 0.010302493734149895, 1e-12);
  assertEquals(gate!.signedRankP, 0.0625);
  assertEquals(gate!.signP, 1 / 32);
});

Deno.test("table differences are tested as SciPy tests them from summaries", () => {
  const learned = reanalyse(PAPER).tables.find((each) =>
    each.table === "table3" && each.encoding === "learned" && each.operator === "gate_scalar"
  )!;
  assertAlmostEquals(learned.mean, 0.0232, 1e-12);
  // scipy.stats.ttest_ind_from_stats gives t = 1.2058987397203085; 2 * t.sf of it at 4
  assertAlmostEquals(learned.p, 0.2943070202240199, 1e-12);
});

Deno.test("a figure's spread outside what the table's spreads allow is found", () => {
  const texts = findings().filter((each) => !each.agrees).map((each) => each.text);
  const arxiv = texts.find((text) =>
    text.startsWith("Figure 3, ArXiv, Gate-Scalar − Add: the bars have")
  );
  // Spreads 0.30 and 0.32 bound the difference's by their sum.
  assert(arxiv?.includes("Table 1's spreads, 0.30 and 0.32, allow between 0.02 and 0.62"), arxiv);
  assert(arxiv?.includes("not fit either"));
});

Deno.test("numbers drawn from one set of runs fit each other", () => {
  // Accuracies of five seeds, from which table and figure are both computed.
  const add = [59.1, 59.6, 58.9, 59.3, 59.4];
  const gate = [65.0, 66.2, 64.1, 67.0, 66.4];
  const mean = (v: number[]) => v.reduce((a, b) => a + b, 0) / v.length;
  const sd = (v: number[]) =>
    Math.sqrt(v.reduce((a, b) => a + (b - mean(v)) ** 2, 0) / (v.length - 1));
  const cell = (v: number[]): [number, number] => [
    Number(mean(v).toFixed(2)),
    Number(sd(v).toFixed(2)),
  ];
  const list = findings({
    tables: { table1: { arxiv: { add: cell(add), gate_scalar: cell(gate) } } },
    series: [{
      figure: "Figure 3",
      dataset: "arxiv",
      encoding: "sinusoidal",
      operator: "gate_scalar",
      against: "add",
      deltas: gate.map((value, i) => Math.round((value - add[i]!) * 20) / 20),
    }],
    latencies: [],
    claims: [],
  });
  assertEquals(list.map((each) => each.agrees), [true, true]);
});

Deno.test("the same seeds drawn twice with other values are found", () => {
  const twice = findings().find((each) => each.text.includes("Figure 5 +3.56"));
  assertEquals(twice?.agrees, false);
});

Deno.test("tables that print a condition twice are compared within their rounding", () => {
  const list = findings();
  const of = (start: string) => list.find((each) => each.text.startsWith(start));
  assertEquals(
    of("ArXiv, Add, Sinusoidal: Table 1 prints a mean of 59.22, Table 2")?.agrees,
    false,
  );
  assertEquals(of("ArXiv, Add, Sinusoidal: Table 1 prints a mean of 59.22, Table 3")?.agrees, true);
  assertEquals(of("ArXiv, Gate-Scalar, Sinusoidal: Table 1 prints a spread")?.agrees, false);
});

Deno.test("bars in another order than the table's words are found, with their numbers", () => {
  const found = findings().filter((each) => each.text.includes("latency"));
  assertEquals(found, [
    {
      agrees: true,
      text: "ArXiv, latency: Table 2 puts Gate-CNN (“slightly higher”) above Add (“lowest”); " +
        "Figure 4b's bars read 911 ms against 892 ms.",
    },
    {
      agrees: false,
      text: "ArXiv, latency: Table 2 puts Gate-Scalar (“highest”) above Gate-CNN (“slightly " +
        "higher”); Figure 4b's bars read 902 ms against 911 ms, 9 ms the other way.",
    },
  ]);
});

Deno.test("a claim against its own printed number is found", () => {
  const texts = findings().filter((each) => each.text.startsWith("Claim")).map((each) => each.text);
  assertEquals(texts.length, 2);
  assert(texts.every((text) => text.includes("A6b")));
});

Deno.test("cells come in the paper's order, whatever order the keys of its tables are in", () => {
  const names = (tables: PaperNumbers["tables"]) =>
    cellsOf(tables).map((cell) =>
      `${cell.table} ${cell.dataset} ${cell.encoding}.${cell.operator}`
    );
  const asPrinted = Object.entries(PAPER.tables).flatMap(([table, datasets]) =>
    Object.entries(datasets).flatMap(([dataset, cells]) =>
      Object.keys(cells).map((key) =>
        `${table} ${dataset} ${key.includes(".") ? key : `sinusoidal.${key}`}`
      )
    )
  );
  const tables = canonical(PAPER.tables) as PaperNumbers["tables"];
  const printed = (name: string) => !name.startsWith("table2");
  assertEquals(names(tables).filter(printed), asPrinted.filter(printed));
  assertEquals(names(tables), names(PAPER.tables));
  assertEquals(reanalyse({ ...PAPER, tables }), reanalyse(PAPER));
});

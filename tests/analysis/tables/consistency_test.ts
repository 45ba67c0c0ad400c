import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { JudgedClaim } from "../../../analysis/claims/judged.ts";
import type { Study } from "../../../analysis/study.ts";
import { findingsOf } from "../../../analysis/tables/consistency.ts";
import { paperFigures, paperTables } from "../../../analysis/tables/paper.ts";
import { axis, bakery, metrics, printedValues, texts } from "./made_up.ts";

const read = (paper: string) =>
  printedValues(
    Deno.readTextFileSync(
      new URL(`../../../experiments/${paper}/published.csv`, import.meta.url),
    ),
  );

const FUSION: Study = bakery({
  ...{ seeds: "seed" as never, tidy: {}, corpora: [], published: read("fusion") },
  axes: [
    axis("dataset", { ag_news: "AG News", imdb: "IMDB", arxiv: "ArXiv" }),
    axis("operator", {
      ...{ add: "Add", concat: "Concat", gate_scalar: "Gate-Scalar" },
      ...{ gate_cnn: "Gate-CNN", gate_mlp: "MLP-Gate" },
    }, { baseline: "add" }),
    axis("encoding", { sinusoidal: "Sinusoidal", learned: "Learned" }),
  ],
  metrics: metrics({
    accuracy: { title: "Accuracy", unit: "percent", scale: 100, better: "greater" },
    latency: { title: "Latency", unit: "ms", digits: 0, change: "ratio", better: "less" },
  }),
  paper: { seeds: 5, reading_error: 0.05, whole: [], size: [] },
});

const INTENSITY: Study = bakery({
  ...{ seeds: "seed" as never, tidy: {}, corpora: [], published: read("intensity") },
  axes: [
    axis("dataset", {}, { title: "Text" }),
    axis("run", Object.fromEntries([0, 1, 2, 3, 4].map((run) => [run, `Run ${run}`])), {
      baseline: "0",
    }),
  ],
  metrics: metrics({
    loss: { title: "Loss", unit: "nats", digits: 4, better: "less" },
    speed: { title: "Speed", unit: "tokens/s", digits: 1, change: "ratio", better: "greater" },
  }),
  paper: { reading_error: 0, whole: [], size: [] },
});

const misfits = (study: Study, claims: readonly JudgedClaim[] = []) =>
  findingsOf(study, claims).filter(({ agrees }) => !agrees).map(({ text }) => text);

/** A claim of one comparison. */
function claim(id: string, printed: number, given: object = {}): JudgedClaim {
  const comparison = {
    ...{ metric: "rise", at: {}, against: { flavour: "plain" }, than: null, over: {} },
    ...{ test: "difference", direction: "greater", bounds: null, smallest: 1, tolerance: null },
    ...{ printed, spread: null, ...given },
  };
  const judged = { comparison, text: "Vanilla − Plain", printed };
  return { id, source: "paper", statement: "It rises", comparisons: [judged] } as never;
}

Deno.test("the misfits of one paper's tables and figures are found by checks that name none", () => {
  // As found by reading: the spreads of Figures 3, 6 and 7, Figure 5's seeds, Tables 1 to 3, Figure 4b.
  const starts = [
    "Figure 3, ArXiv, Sinusoidal, Gate-Scalar − Add: the seeds have a standard deviation of 3.19 " +
    "points. Table 1's spreads, 0.30 and 0.32, allow between 0.02 and 0.62 if they are standard " +
    "deviations over the same seeds; as standard errors they would not fit either.",
    "Figure 3, ArXiv, Sinusoidal, Concat − Add: the seeds have a standard deviation of 2.49 points.",
    "Figure 6, AG News, Sinusoidal, Concat − Add: the seeds have a standard deviation of 0.34",
    "Figure 7, IMDB, Sinusoidal, Gate-Scalar − Add: the seeds have a standard deviation of 0.57",
    "Figure 7, IMDB, Sinusoidal, Concat − Add: the seeds have a standard deviation of 0.66",
    "Figure 3, ArXiv, Sinusoidal, Gate-Scalar − Add, seeds 0 to 2: Figure 3 shows +9.50, +2.55, " +
    "+3.67, Figure 5 +3.56, +5.86, +5.46; they can't be the same runs.",
    "ArXiv, Add, Sinusoidal, accuracy: Table 1 prints a mean of 59.22, Table 2 about 62, 2.78 " +
    "points apart.",
    "ArXiv, Add, Sinusoidal, accuracy: Table 1 prints a spread of 0.32, Table 3 1.07, 3.3 times",
    "ArXiv, Concat, Sinusoidal, accuracy: Table 1 prints a spread of 0.28, Table 3 2.27, 8.1 times",
    "ArXiv, Gate-Scalar, Sinusoidal, accuracy: Table 1 prints a mean of 65.73, Table 2 about 67",
    "ArXiv, Gate-Scalar, Sinusoidal, accuracy: Table 1 prints a spread of 0.30, Table 3 4.01, 13.4",
    "ArXiv, Add, Sinusoidal, accuracy: Table 2 prints a mean of about 62, Table 3 59.22, 2.78",
    "ArXiv, Gate-Scalar, Sinusoidal, accuracy: Table 2 prints a mean of about 67, Table 3 65.73",
    "ArXiv, Sinusoidal, latency: Table 2 puts Gate-Scalar (“highest”) above Gate-CNN (“slightly " +
    "higher”); Figure 4b has 902 ms against 911 ms, 9 ms the other way.",
  ];
  const found = misfits(FUSION);
  assertEquals(found.map((text, index) => text.slice(0, starts[index]?.length)), starts);
  assertEquals(findingsOf(FUSION, []).length, 29);
});

Deno.test("printed averages are put to the printed values that they are of", () => {
  // (1.4602 + 1.0048 + 0.9793 + 1.1892) / 4 = 1.158375
  assertEquals(misfits(INTENSITY), [
    "Run 0, loss, on average over 4 values of text: Table 1 prints 1.161, the printed values have a " +
    "mean of 1.1584.",
    "Run 4 against Run 0, loss, on average over 4 values of text: better by Table 1's " +
    "averages, worse by the printed values.",
  ]);
  const all = findingsOf(INTENSITY, []);
  // The other average fits; so do the four printed changes of speed.
  assertEquals(all.length, 7);
  assert(all.some(({ agrees, text }) => agrees && text.includes("a change of −31.0 %")));
});

Deno.test("a claim whose printed number has the other sign is found, whatever sign it claims", () => {
  const study = bakery({ published: [] });
  assertEquals(
    misfits(study, [
      claim("X1", -0.33),
      claim("X2", 0.33, { direction: "less" }),
      claim("X3", -0.33, { direction: "less" }),
      claim("X4", -0.33, { test: "equivalence" }),
      claim("X5", 0),
    ]).map((text) => text.slice(0, 8)),
    ["Claim X1", "Claim X2"],
  );
  // One oven ran; the paper prints numbers of two, and each is named.
  const axes = study.axes.map((each) =>
    each.name === "oven" ? { ...each, values: each.values.slice(0, 1) } : each
  );
  const texts = ["gas", "sun"].flatMap((oven) =>
    misfits({ ...study, axes }, [claim("X1", -0.33, { at: { oven } })])
  );
  assertEquals(new Set(texts).size, 2);
});

Deno.test("numbers drawn from one set of runs fit each other", () => {
  // Accuracies of five seeds, from which table and figure are both computed.
  const plain = [59.1, 59.6, 58.9, 59.3, 59.4];
  const vanilla = [65.0, 66.2, 64.1, 67.0, 66.4];
  const mean = (v: number[]) => v.reduce((a, b) => a + b, 0) / v.length;
  const sd = (v: number[]) =>
    Math.sqrt(v.reduce((a, b) => a + (b - mean(v)) ** 2, 0) / (v.length - 1));
  const row = (flavour: string, v: number[]) =>
    `Table 1,,rise,${flavour},,,${mean(v).toFixed(2)},${sd(v).toFixed(2)},5,\n`;
  const csv = "source,page,metric,flavour,batch,against.flavour,value,spread,n,words\n" +
    row("plain", plain) + row("vanilla", vanilla) +
    vanilla.map((value, seed) =>
      `Figure 3,,rise,vanilla,${seed},plain,${(value - plain[seed]!).toFixed(2)},,,\n`
    ).join("");
  const study = bakery({ published: printedValues(csv) });
  assertEquals(findingsOf(study, []).map(({ agrees }) => agrees), [true, true]);
});

Deno.test("the scalar gate's gain on ArXiv has SciPy's interval and p-value", () => {
  const { columns, rows } = paperFigures(FUSION).data;
  const gate = Object.fromEntries(columns.map((name, index) => [name, rows[0]![index]]));
  assertEquals([gate["source"], gate["operator"]], ["Figure 3", "gate_scalar"]);
  assertAlmostEquals(Number(gate["mean"]), 6.514, 1e-10);
  // scipy.stats.ttest_1samp and t.interval of Figure 3's five values
  assertAlmostEquals(Number(gate["interval_low"]), 2.5518601041609884, 1e-10);
  assertAlmostEquals(Number(gate["interval_high"]), 10.476139895839012, 1e-10);
  assertAlmostEquals(Number(gate["p"]), 0.010302493734149895, 1e-12);
  assertEquals([gate["signed_rank_p"], rows.length], [0.0625, 8]);
});

Deno.test("differences of printed means are tested as SciPy tests them from summaries", () => {
  const { columns, rows } = paperTables(FUSION).data;
  const all = rows.map((row) =>
    Object.fromEntries(columns.map((name, index) => [name, row[index]]))
  );
  assertEquals(all.length, 18);
  const learned = all.find((each) =>
    each["encoding"] === "learned" && each["operator"] === "gate_scalar"
  )!;
  assertAlmostEquals(Number(learned["mean"]), 2.32, 1e-10);
  // scipy.stats.ttest_ind_from_stats gives t = 1.2058987397203085; 2 * t.sf of it at 4
  assertAlmostEquals(Number(learned["p"]), 0.2943070202240199, 1e-12);
});

Deno.test("the paper's own numbers are shown as its differences from the baseline", () => {
  assertEquals(texts(paperFigures(FUSION))[1], [
    ...["Figure 3", "ArXiv, Sinusoidal", "Gate-Scalar − Add", "5", "+6.51", "[+2.55, +10.48]"],
    ...["3.19", "0.0103", "0.0824", "0.0625", "5/0"],
  ]);
  assertEquals(texts(paperTables(INTENSITY)).length, 1);
});

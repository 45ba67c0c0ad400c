import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { judgeClaims } from "../../../analysis/claims/judge.ts";
import { metricsSchema } from "../../../analysis/spec/axes.ts";
import { paperSchema } from "../../../analysis/spec/published.ts";
import type { Corpus, PublishedValue, Study } from "../../../analysis/study.ts";
import { claimsOf, FUSION, printed } from "./papers.ts";

type Runs = Readonly<Record<string, readonly number[]>>;

/** A study of accuracies by `dataset/arm`, a value for each seed. */
function study(runs: Runs, options: {
  readonly kinds?: Readonly<Record<string, Corpus["kind"]>>;
  readonly published?: readonly PublishedValue[];
  readonly paper?: Record<string, unknown>;
} = {}): Study {
  const rows = Object.entries(runs).flatMap(([name, values]) => {
    const [dataset, arm] = name.split("/");
    return values.map((value, seed) => ({ dataset, arm, seed: String(seed), accuracy: value }));
  });
  const names = ["dataset", "arm", "seed", "accuracy"] as const;
  const column = (name: typeof names[number]) => rows.map((row) => row[name]!);
  const axis = (name: "dataset" | "arm" | "seed") => ({
    name,
    title: name,
    baseline: null,
    values: [...new Set(column(name))].map((value) => ({
      value: String(value),
      title: `the ${value}`,
      short: String(value),
      note: null,
    })),
  });
  const columns = Object.fromEntries(names.map((name) => [name, column(name)]));
  return {
    title: "Test",
    confidence: 0.95,
    seeds: "seed",
    axes: [axis("dataset"), axis("arm"), axis("seed")],
    metrics: metricsSchema.parse({
      accuracy: { title: "Accuracy", max: 100 },
      time: { title: "Time", column: "accuracy", change: "ratio" },
    }),
    tidy: {
      runs: { name: "runs", axes: names.slice(0, 3), columns, length: rows.length },
    },
    corpora: [...new Set(rows.map((row) => row.dataset!))].map((dataset) => ({
      at: { dataset },
      kind: options.kinds?.[dataset] ?? "official",
      title: dataset,
      note: "",
    })),
    published: options.published ?? [],
    paper: paperSchema.parse(options.paper ?? {}),
  };
}

const BASE = {
  ...{ id: "X", statement: "B beats A", metric: "accuracy", smallest: 1, tolerance: 2 },
  ...{ at: { dataset: "x", arm: "b" }, against: { arm: "a" }, printed: 6.5 },
};
const claim = (changes: Record<string, unknown> = {}) => claimsOf([{ ...BASE, ...changes }])[0]!;
const A = [60, 61, 62, 63, 64];
const B = [66.4, 67.6, 68.3, 69.8, 70.4];
const one = (study: Study, changes: Record<string, unknown> = {}) =>
  judgeClaims(study, [claim(changes)])[0]!;

Deno.test("a claim is judged by the paired changes of its runs", () => {
  const judged = one(study({ "x/a": A, "x/b": B }));
  assertEquals([judged.verdict, judged.holds], ["reproduced", true]);
  const [{ text, outcome, provenance }] = judged.comparisons as [typeof judged.comparisons[0]];
  assertEquals(text, "the b − the a");
  assertEquals(provenance, "full data");
  assertEquals([outcome.n, outcome.positive, outcome.negative], [5, 5, 0]);
  assertAlmostEquals(outcome.mean!, 6.5, 1e-12);
  // A mean of 6.5 at a spread of 0.2: the fewest that a t test takes.
  assertEquals(outcome.seedsNeeded, 2);
  assertEquals(judged.p, outcome.p);
});

Deno.test("every claim of a paper gets a verdict, also when nothing ran", () => {
  for (const judged of judgeClaims({ ...study({}), ...FUSION.prints }, FUSION.claims)) {
    assertEquals([judged.verdict, judged.holds, judged.p], ["not run", null, null]);
    assertEquals(judged.comparisons.map(({ provenance }) => provenance).join(""), "");
  }
});

Deno.test("runs on a sample or of a smaller model are judged, but leave open whether a claim holds", () => {
  const runs = { "x/a": A, "x/b": B };
  const sample = one(study(runs, { kinds: { x: "sample" } }));
  assertEquals([sample.verdict, sample.holds], ["reproduced", null]);
  // Only the condition that is compared with is smaller.
  const paper = { size: [{ at: { arm: "a" }, at_least: { accuracy: 65 } }] };
  const smaller = one(study(runs, { paper }));
  assertEquals([smaller.verdict, smaller.holds], ["reproduced", null]);
  assertEquals(smaller.comparisons[0]!.provenance, "full data; full data, smaller model");
});

Deno.test("synthetic data is no evidence for a paper's claim, but for one of our own", () => {
  const made = study({ "x/a": A, "x/b": B }, { kinds: { x: "synthetic" } });
  assertEquals(one(made).verdict, "not run");
  const own = one(made, { source: "own" });
  assertEquals([own.verdict, own.holds], ["reproduced", true]);
});

Deno.test("an average over data sets takes those that the claim names, and all of them", () => {
  const over = { over: { dataset: ["x", "y"] }, at: { arm: "b" }, printed: 5 };
  const runs = { "x/a": A, "x/b": B, "y/a": A, "y/b": B.map((value) => value - 3) };
  const without = one(study(runs), over);
  assertAlmostEquals(without.comparisons[0]!.outcome.mean!, 5, 1e-12);
  assertEquals(without.comparisons[0]!.text, "mean of the x, the y: the b − the a");
  const own = study({ ...runs, "mine/a": A, "mine/b": A.map((value) => value - 90) });
  assertEquals(one(own, over).comparisons[0]!.outcome, without.comparisons[0]!.outcome);
  assertEquals(one(study({ "x/a": A, "x/b": B }), over).verdict, "not run");
});

Deno.test("a difference of differences is taken seed by seed", () => {
  const runs = { "x/a": A, "x/b": B, "y/a": A, "y/b": A.map((value) => value + 1) };
  const judged = one(study(runs), { than: { dataset: "y" }, printed: 5.5 });
  assertEquals(judged.verdict, "reproduced");
  assertAlmostEquals(judged.comparisons[0]!.outcome.mean!, 5.5, 1e-12);
  assertEquals(
    judged.comparisons[0]!.text,
    "the x: the b − the a, less the same of the y: the b − the a",
  );
});

Deno.test("ratios are averaged as logarithms and shown in percent", () => {
  const slower = A.map((value, index) => value * [2, 0.5, 2, 0.5, 1][index]!);
  const judged = one(study({ "x/a": A, "x/b": slower }), { metric: "time", test: "equivalence" });
  assertAlmostEquals(judged.comparisons[0]!.outcome.mean!, 0, 1e-9);
  assertEquals(judged.comparisons[0]!.text, "the b / the a");
});

Deno.test("printed numbers are those of the source that a claim names", () => {
  const at = (arm: string) => ({ dataset: "x", arm });
  const published = [
    printed("accuracy", at("a"), 59.22, { source: "Table 3", spread: 3 }),
    printed("accuracy", at("b"), 65.73, { source: "Table 3", spread: 4 }),
    printed("accuracy", at("a"), 1),
    printed("accuracy", at("b"), 2),
    printed("accuracy", at("b"), 3.25, { source: "Abstract", against: { arm: "a" } }),
  ];
  const made = study({ "x/a": [60], "x/b": [67] }, { published });
  const numbers = (source: unknown) => {
    const { printed, outcome } = one(made, { printed: source }).comparisons[0]!;
    return [printed, outcome.seedsNeeded];
  };
  // √(3² + 4²) = 5. SciPy: nct.sf(t.isf(.05, n - 1), n - 1, 6.51 / 5 * sqrt(n)) is 0.860, 0.916 at 6, 7.
  assertEquals(numbers("Table 3"), [6.51, 7]);
  assertEquals(numbers("Table 1")[0], 1);
  assertEquals(numbers("Abstract")[0], 3.25);
  assertEquals(numbers("Table 9")[0], null);
  assertEquals(numbers(4.5)[0], 4.5);
});

Deno.test("a change is as printed before it is that of two means, an average is of no data set alone", () => {
  const published = [
    printed("accuracy", { arm: "a" }, 60),
    printed("accuracy", { arm: "b" }, 66.52),
    printed("accuracy", { arm: "b" }, 6.5, { against: { arm: "a" } }),
    printed("accuracy", { dataset: "x", arm: "a" }, 50, { source: "Table 2" }),
    printed("accuracy", { dataset: "y", arm: "a" }, 70, { source: "Table 2" }),
  ];
  const made = study({ "x/a": [60], "x/b": [67] }, { published });
  const number = (changes: Record<string, unknown>) =>
    one(made, { printed: "Table 1", ...changes }).comparisons[0]!.printed;
  assertEquals(number({ at: { arm: "b" }, over: { dataset: ["x", "y"] } }), 6.5);
  const plain = { at: { arm: "a" }, against: undefined, test: "within", bounds: [0, 100] };
  assertEquals(number({ ...plain, over: { dataset: ["x", "y"] } }), 60);
  assertEquals(number({ ...plain, at: { dataset: "x", arm: "a" } }), null);
  assertEquals(number({ ...plain, over: { dataset: ["x", "y"] }, printed: "Table 2" }), 60);
});

Deno.test("without printed spreads, those of differences printed by seed are expected", () => {
  const published = [9.50, 2.55, 3.67, 7.83, 9.02].map((value, seed) =>
    printed("accuracy", { dataset: "x", arm: "b", seed: String(seed) }, value, {
      source: "Figure 3",
      against: { arm: "a" },
    })
  );
  const made = study({ "x/a": [60], "x/b": [67] }, { published });
  // SciPy, at 6.5 by their standard deviation: a power of 0.724 at 3 seeds, 0.917 at 4.
  assertEquals(one(made).comparisons[0]!.outcome.seedsNeeded, 4);
  assertEquals(one(study({ "x/a": [60], "x/b": [67] })).comparisons[0]!.outcome.seedsNeeded, null);
  assert(one(made).chances !== null);
});

Deno.test("a claim's chances are those of the seeds that all of its conditions have", () => {
  const claims = [
    claim({ spread: 3 }),
    claim({ id: "Y", spread: 3, at: { dataset: "y", arm: "b" } }),
  ];
  const chances = (runs: Runs) => judgeClaims(study(runs), claims).map(({ chances }) => chances);
  const y = { "y/a": A, "y/b": B };
  const [less, five] = chances({ "x/a": A, "x/b": B.slice(0, 2), ...y });
  assertEquals([less!.seeds, five!.seeds], [2, 5]);
  // Two seeds with a spread of 3 seldom show 6.5 points, five nearly always do.
  assert(less!.printed["underpowered"]! > 0.5 && five!.printed["underpowered"]! < 0.2);
  assertEquals(chances({ "x/a": A, ...y })[0], null);
});

Deno.test("seeds needed are taken at the level that decides in the whole family", () => {
  const noisy = study({ "x/a": A, "x/b": [70, 61, 72, 65, 69] });
  const needed = (elsewhere: number) =>
    judgeClaims(noisy, [claim()], { elsewhere })[0]!.comparisons[0]!.outcome.seedsNeeded!;
  assert(needed(8) > needed(0), `${needed(8)} and ${needed(0)}`);
});

Deno.test("claims of ours are corrected apart from the paper's", () => {
  const runs = study({ "x/a": A, "x/b": [70, 61, 72, 65, 69] });
  const claims = [claim(), claim({ id: "Y" }), claim({ id: "Z", source: "own" })];
  const [first, second, own] = judgeClaims(runs, claims, { elsewhere: 1 });
  const { p } = first!.comparisons[0]!.outcome;
  assertAlmostEquals(first!.p!, 3 * p!, 1e-15);
  assertAlmostEquals(second!.p!, 3 * p!, 1e-15);
  assertEquals(own!.p, p);
});

Deno.test("no interval of a value goes beyond the metric's largest", () => {
  const judged = one(study({ "x/b": [99, 100, 99.9, 100] }), {
    ...{ against: undefined, test: "within", bounds: [98, 101], printed: 99.5 },
  });
  assertEquals(judged.comparisons[0]!.outcome.interval![1], 100);
});

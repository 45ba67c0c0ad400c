import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { provenanceOf } from "../../analysis/provenance.ts";
import {
  changesOf,
  conditionsOf,
  estimateOf,
  placeText,
  shownChange,
  type Study,
  testedChange,
} from "../../analysis/study.ts";
import { printedAt } from "../../analysis/printed.ts";
import { studyOf } from "../../analysis/tidy/study_of.ts";
import { measured, studyParams } from "./tidy/measured.ts";

const metrics = {
  accuracy: { title: "Accuracy", scale: 100, same: ["documents"] },
  speed: { title: "Speed", table: "rounds", column: "ms", change: "ratio", within: "round" },
  pooled: { title: "Speed", table: "rounds", column: "ms", change: "ratio" },
  absent: { title: "Absent", table: "nowhere" },
};

/** Accuracies by data set, arm and seed. */
function study(
  accuracies: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>>,
  written: Parameters<typeof studyParams>[0] = {},
): Study {
  const files = Object.entries(accuracies).flatMap(([data, arms]) =>
    Object.entries(arms).flatMap(([arm, values]) =>
      values.map((accuracy, seed) =>
        measured({ data, arm, seed: String(seed) }, {
          runs: { accuracy: [accuracy], documents: [100], size: [64] },
        })
      )
    )
  );
  return studyOf(studyParams({ metrics, ...written }), files).study;
}

/** Milliseconds of each round by arm, a list for each seed. */
function timed(arms: Readonly<Record<string, readonly (readonly number[])[]>>): Study {
  const seeds = Object.values(arms)[0]!.length;
  const files = Array.from({ length: seeds }, (_, seed) => {
    const rows = Object.entries(arms).flatMap(([arm, values]) =>
      values[seed]!.map((ms, round) => ({ arm, round, ms }))
    );
    return measured({ seed: String(seed) }, {
      rounds: {
        arm: rows.map((row) => row.arm),
        round: rows.map((row) => row.round),
        ms: rows.map((row) => row.ms),
      },
    });
  });
  const axes = { arm: { title: "Arm" } };
  return studyOf(studyParams({ metrics, axes }), files).study;
}

const values = (changes: readonly { seed: string; value: number }[]) =>
  changes.map(({ seed, value }) => [seed, Math.round(value * 1e9) / 1e9]);

const estimate = (own: Study, metric: string, arm = "a") =>
  estimateOf(own, { metric, at: { arm, data: "x" }, against: null })!;

Deno.test("a condition has its runs, their mean, spread and interval in the shown unit", () => {
  const own = study({ x: { a: [0.5, 0.6, 0.7] } });
  assertEquals(conditionsOf(own, "accuracy"), [
    { at: { arm: "a", data: "x" }, seeds: ["0", "1", "2"] },
  ]);
  const { values, mean, sd, interval } = estimate(own, "accuracy");
  assertEquals(values, [50, 60, 70]);
  assertAlmostEquals(mean, 60, 1e-9);
  assertAlmostEquals(sd!, 10, 1e-9);
  // t(0.975; 2) = 4.30265 (any table), over √3.
  assertAlmostEquals(interval![1] - 60, 4.30265 * 10 / Math.sqrt(3), 1e-4);
});

Deno.test("a single run has a mean, and neither spread nor interval", () => {
  const { mean, sd, interval } = estimate(study({ x: { a: [0.5] } }), "accuracy");
  assertEquals([mean, sd, interval], [50, null, null]);
});

Deno.test("a table or a value that is not there is no condition and no change", () => {
  const nan = study({ x: { a: [NaN, 0.5], b: [0.4, Infinity] } });
  assertEquals(conditionsOf(nan, "accuracy").map(({ at, seeds }) => [at["arm"], ...seeds]), [
    ...[["a", "1"], ["b", "0"]],
  ]);
  assertEquals(changesOf(nan, { metric: "accuracy", at: { arm: "a" }, against: { arm: "b" } }), []);
  assertEquals(conditionsOf(nan, "absent"), []);
  assertEquals(changesOf(nan, { metric: "absent", at: {}, against: null }), []);
  assertEquals(conditionsOf(nan, "accuracy", { arm: "c" }), []);
  assertThrows(() => conditionsOf(nan, "acuracy"), RangeError, "acuracy");
});

Deno.test("changes are taken under one seed; a seed that one condition lacks is left out", () => {
  const found = changesOf(study({ x: { a: [0.5, 0.6, 0.7], b: [0.4, 0.5] } }), {
    metric: "accuracy",
    at: { arm: "a", data: "x" },
    against: { arm: "b" },
  });
  assertEquals(values(found), [["0", 10], ["1", 10]]);
});

Deno.test("without a condition to compare with, the values themselves are given", () => {
  const found = changesOf(study({ x: { a: [0.5, 0.25] } }), {
    metric: "accuracy",
    at: { arm: "a" },
    against: null,
  });
  assertEquals(values(found), [["0", 50], ["1", 25]]);
});

Deno.test("a second difference is subtracted from the first, seed by seed", () => {
  const own = study({
    x: { a: [0.5, 0.6], b: [0.4, 0.4] },
    y: { a: [0.9, 0.7, 0.1], b: [0.6, 0.6, 0.1] },
  });
  const found = changesOf(own, {
    metric: "accuracy",
    at: { data: "y", arm: "a" },
    against: { arm: "b" },
    than: { data: "x" },
  });
  assertEquals(values(found), [["0", 20], ["1", -10]]);
  const rows = [...found[0]!.plus, ...found[0]!.minus];
  const table = own.tidy["runs"]!;
  assertEquals(rows.map((row) => `${table.columns["data"]![row]}${table.columns["arm"]![row]}`), [
    "ya",
    "xb",
    "yb",
    "xa",
  ], "first those that count positive");
});

Deno.test("means over an axis are within a seed, and need all of its values", () => {
  const own = study({
    x: { a: [0.5, 0.6], b: [0.4, 0.4] },
    y: { a: [0.9, 0.7], b: [0.5] },
  });
  const contrast = { metric: "accuracy", at: { arm: "a" }, against: { arm: "b" } };
  assertEquals(values(changesOf(own, { ...contrast, over: { data: ["x", "y"] } })), [["0", 25]]);
  assertEquals(changesOf(own, { ...contrast, over: { data: ["x", "z"] } }), []);
});

Deno.test("runs on other documents are not compared", () => {
  const at = (arm: string) => ({ arm, seed: "0" });
  const files = [
    measured(at("a"), { runs: { accuracy: [0.5], documents: [100] } }),
    measured(at("b"), { runs: { accuracy: [0.4], documents: [99] } }),
  ];
  const own = studyOf(studyParams({ metrics }), files).study;
  assertEquals(changesOf(own, { metric: "accuracy", at: { arm: "a" }, against: { arm: "b" } }), []);
});

Deno.test("a ratio is taken round by round, as the median of logarithms", () => {
  // A slow second round hits both; the ratios are 2, 2 and 4.
  const own = timed({ a: [[20, 2000, 40]], b: [[10, 1000, 10]] });
  const [change] = changesOf(own, { metric: "speed", at: { arm: "a" }, against: { arm: "b" } });
  assertAlmostEquals(change!.value, Math.log(2), 1e-12);
  assertAlmostEquals(shownChange(own.metrics["speed"]!, change!.value), 100, 1e-10);
  assertAlmostEquals(testedChange(own.metrics["speed"]!, 100), Math.log(2), 1e-12);
});

Deno.test("without a column to pair within, medians are compared, not each row with the first", () => {
  const own = timed({ a: [[1, 8, 9]], b: [[100, 4, 2]] });
  const [change] = changesOf(own, { metric: "pooled", at: { arm: "a" }, against: { arm: "b" } });
  assertAlmostEquals(change!.value, Math.log(8 / 4), 1e-12);
});

Deno.test("a condition that is compared by ratios has a geometric mean", () => {
  const own = timed({ a: [[10], [1000], [100]], b: [[1], [0], [1]] });
  const [a, b] = ["a", "b"].map((arm) =>
    estimateOf(own, { metric: "speed", at: { arm }, against: null })
  );
  assertAlmostEquals(a!.mean, 100, 1e-10);
  assertAlmostEquals(a!.interval![0] * a!.interval![1], 1e4, 1e-6);
  assertEquals([b!.n, b!.mean], [2, 1], "a time of zero is none");
});

Deno.test("the mean of equal changes is that change: a ratio and its inverse cancel", () => {
  const own = timed({ a: [[10, 20], [40, 30]], b: [[20, 40], [20, 15]] });
  const found = changesOf(own, { metric: "speed", at: { arm: "a" }, against: { arm: "b" } });
  assertAlmostEquals(found.reduce((total, { value }) => total + value, 0), 0, 1e-12);
});

Deno.test("provenance is the least of the data's, and says what falls short", () => {
  const corpus = (data: string, kind: string) =>
    measured({ data }, { corpora: { kind: [kind], title: [data], note: [""] } });
  const run = (data: string, size: number) =>
    measured({ data, seed: "0" }, { runs: { accuracy: [0.5], size: [size], steps: [10] } });
  const { study: own } = studyOf(
    studyParams({
      paper: {
        size: [
          { at: { data: "x" }, equals: { size: 64 }, says: "smaller model" },
          { at_least: { steps: 20 }, says: "shorter training" },
        ],
      },
    }),
    [
      ...[["x", "official"], ["y", "sample"], ["z", "synthetic"]].map(([data, kind]) =>
        corpus(data!, kind!)
      ),
      ...[["x", 32], ["y", 32], ["z", 32], ["w", 64]].map(([data, size]) =>
        run(String(data), Number(size))
      ),
    ],
  );
  const text = (data: string | string[]) => provenanceOf(own, { data }).text;
  assertEquals(text("x"), "full data, smaller model, shorter training");
  assertEquals(text("y"), "sample of the data, shorter training");
  assertEquals(text("z"), "synthetic data");
  assertEquals(text("w"), "data not described, shorter training");
  assertEquals(text(["x", "y"]).startsWith("sample of the data"), true);
  assertEquals(provenanceOf(own, { data: "x" }).asPaper, false);
});

Deno.test("a run on all of the data and of the paper's size is as the paper's", () => {
  const files = [
    measured({ data: "x" }, { corpora: { kind: ["official"], title: ["X"], note: [""] } }),
    measured({ data: "x", seed: "0" }, { runs: { accuracy: [0.5], size: [64] } }),
  ];
  const of = (size: number) =>
    provenanceOf(
      studyOf(studyParams({ paper: { size: [{ equals: { size } }] } }), files).study,
      { data: "x" },
    );
  assertEquals(of(64), { kind: "official", short: [], asPaper: true, text: "full data" });
  assertEquals(of(65).asPaper, false);
});

Deno.test("what a paper prints for a condition names all of it; an average is of no single one", () => {
  const row = (source: string, value: string, at: Record<string, string>) => ({
    source,
    metric: "accuracy",
    value,
    ...at,
  });
  const published = [
    row("Table 1", "10", { arm: "a" }),
    row("Table 1", "20", { arm: "a", data: "x" }),
    row("Table 2", "30", { arm: "a", data: "x" }),
    row("Table 1", "40", { arm: "b", data: "x", "against.arm": "a" }),
  ];
  const own = study({ x: { a: [0.5] } }, { published });
  const at = (at: Record<string, string>, source?: string) =>
    printedAt(own, { metric: "accuracy", at, source })?.value;
  assertEquals(at({ arm: "a", data: "x" }), 20);
  assertEquals(at({ arm: "a", data: "x" }, "Table 2"), 30);
  assertEquals(at({ arm: "a" }), 10);
  assertEquals(at({ arm: "a", data: "y" }), undefined);
  assertEquals(at({ arm: "b", data: "x" }), undefined, "it is a difference");
});

Deno.test("a place names the axes on which runs differ", () => {
  const own = study({ x: { a: [0.5, 0.6], b: [0.5] } });
  assertEquals(placeText(own, { arm: "a", data: "x" }), "a");
  assert(placeText(own, { arm: "a", data: "x" }, { all: true }).includes("x"));
});

import { assertEquals, assertThrows } from "@std/assert";
import { axisOf, titleOf } from "../../../analysis/study.ts";
import {
  absentValues,
  missingRuns,
  studyOf,
  type StudyParams,
} from "../../../analysis/tidy/study_of.ts";
import { canonical } from "../../../pipeline/key/canonical.ts";
import { StageError } from "../../../pipeline/errors.ts";
import { measured, studyParams } from "./measured.ts";

const corpus = (data: string, values: Record<string, string | number>) =>
  measured({ data }, {
    corpora: Object.fromEntries(
      Object.entries({ kind: "official", title: `The ${data}`, note: "", ...values })
        .map(([name, value]) => [name, [value]]),
    ),
  });
const run = (at: Record<string, string>, accuracy = 0.5) =>
  measured(at, { runs: { accuracy: [accuracy] } });

Deno.test("values are called as described, else as their corpus, else as they are", () => {
  const { study } = studyOf(
    studyParams({
      axes: {
        arm: {
          title: "Arm",
          baseline: "b",
          values: { b: { title: "Bee", short: "B", note: "A note." }, gone: "Gone", a: "Ay" },
        },
      },
    }),
    ["a", "b", "c"].map((arm) => run({ arm, data: "x", seed: "0" })).concat(corpus("x", {})),
  );
  assertEquals(study.axes.map(({ name, title, baseline }) => [name, title, baseline]), [
    ["arm", "Arm", "b"],
    ["data", "data", null],
    ["seed", "seed", null],
  ]);
  assertEquals(axisOf(study, "arm")!.values, [
    { value: "b", title: "Bee", short: "B", note: "A note." },
    { value: "a", title: "Ay", short: "Ay", note: null },
    { value: "c", title: "c", short: "c", note: null },
  ]);
  assertEquals(titleOf(study, "arm", "gone"), "Gone", "the paper prints it, nothing ran");
  assertEquals(titleOf(study, "data", "x"), "The x");
});

Deno.test("the order of values in the experiment file reaches the study through sorted params", () => {
  const params = canonical(
    studyParams({ axes: { arm: { title: "Arm", values: { z: "Z", a: "A" } } } }),
  ) as unknown as StudyParams;
  const { study } = studyOf(params, ["a", "z"].map((arm) => run({ arm, seed: "0" })));
  assertEquals(axisOf(study, "arm")!.values.map(({ value }) => value), ["z", "a"]);
});

Deno.test("a corpus of less than 99 % of its data set is a sample, and says how much it has", () => {
  const kindOf = (documents: number, kind = "official") =>
    studyOf(
      studyParams({ paper: { whole: [{ at: { data: "x" }, column: "documents", value: 1000 }] } }),
      [corpus("x", { documents, kind, note: "A note." }), corpus("y", { documents: 5 })],
    ).study.corpora.map(({ at, kind, note }) => [at["data"], kind, note]);
  assertEquals(kindOf(990), [["x", "official", "A note."], ["y", "official", ""]]);
  const text = "A note. Only 989 of the 1000 documents were used.";
  assertEquals(kindOf(989), [["x", "sample", text], ["y", "official", ""]]);
  assertEquals(kindOf(10, "synthetic")[0], ["x", "synthetic", "A note."]);
  assertEquals(kindOf(2000, "synthetic")[0], ["x", "synthetic", "A note."]);
  // All documents in another archive than the official one; fewer by one are a sample.
  assertEquals(kindOf(1000, "sample")[0], ["x", "official", "A note."]);
  assertEquals(kindOf(999, "sample")[0], ["x", "sample", "A note."]);
});

Deno.test("a subset of a source is a sample, though nobody says how large the whole is", () => {
  const splits = (available: number) =>
    measured({ data: "x" }, {
      splits: { split: ["train", "test"], documents: [80, 20], available: [available, 20] },
    });
  const of = (available: number) =>
    studyOf(studyParams(), [corpus("x", {}), splits(available)]).study.corpora[0]!;
  assertEquals(of(80).kind, "official");
  assertEquals(of(81), {
    at: { data: "x" },
    kind: "sample",
    title: "The x",
    note: "Only 100 of the 101 documents were used.",
  });
});

Deno.test("a corpus of a kind that is none is refused", () => {
  assertThrows(
    () => studyOf(studyParams(), [corpus("x", { kind: "real" })]),
    StageError,
    'kind must be official, sample or synthetic, found "real"',
  );
});

Deno.test("what a paper prints keeps its place, its rounding and its seeds", () => {
  const { study } = studyOf(
    studyParams({
      paper: { seeds: 5, reading_error: 0.2 },
      published: [
        { source: "Table 1", page: "4", metric: "accuracy", arm: "a", seed: "", value: "91.2" },
        {
          source: "Figure 2",
          metric: "accuracy",
          arm: "a",
          "against.arm": "b",
          value: "-3",
          n: "2",
        },
        { source: "Text", metric: "accuracy", arm: "b", value: "", words: "lowest", spread: "" },
        { source: "Table 2", metric: "accuracy", arm: "b", value: "0.250", spread: "0.1" },
        // Of a metric that other runs measure.
        { source: "Table 2", metric: "latency", arm: "b", value: "7" },
      ],
    }),
    [],
  );
  const common = { metric: "accuracy", against: null, spread: null, n: 5, page: "", words: "" };
  assertEquals(study.published, [
    { ...common, source: "Table 1", page: "4", at: { arm: "a" }, value: 91.2, rounding: 0.05 },
    {
      ...common,
      source: "Figure 2",
      at: { arm: "a" },
      against: { arm: "b" },
      value: -3,
      rounding: 0.5,
      n: 2,
    },
    { ...common, source: "Text", at: { arm: "b" }, value: null, rounding: 0.5, words: "lowest" },
    { ...common, source: "Table 2", at: { arm: "b" }, value: 0.25, rounding: 0.0005, spread: 0.1 },
  ]);
});

Deno.test("every run that was asked for and is not there is missing, and none that was not asked for", () => {
  const values = { data: ["x", "y"], arm: ["a", "b"], seed: ["0", "1", "2", "10"] };
  const exclude = [{ data: ["x"], seed: ["10"] }, { data: ["y"], other: ["z"] }];
  const grid = { values, exclude, each: [["arm", "data", "seed"], ["data"]] };
  const asked = ["x", "y"].flatMap((data) =>
    ["a", "b"].flatMap((arm) => ["0", "1", "2", "10"].map((seed) => ({ data, arm, seed })))
  ).filter(({ data, seed }) => data === "y" || seed !== "10");
  const missing = (left: (at: { data: string; arm: string; seed: string }) => boolean) => {
    const artifacts = [
      ...asked.filter((at) => !left(at)).map((at) => run(at)),
      ...["x", "y"].map((data) => corpus(data, {})),
    ];
    const { study } = studyOf(studyParams(), artifacts);
    const absent = absentValues(study, { ...studyParams(), grid });
    return missingRuns(study, { artifacts, grid, absent });
  };
  assertEquals(missing(() => false), []);
  assertEquals(missing(({ data, arm, seed }) => data === "x" && arm === "b" && seed === "1"), [
    { arm: "b", data: "x", seed: "1" },
  ]);
  // An arm of its own lacks a seed; seeds in the order of numbers.
  const late = ({ arm, seed }: { arm: string; seed: string }) =>
    arm === "b" && (seed === "10" || seed === "2");
  assertEquals(missing(late), [
    { arm: "b", data: "x", seed: "2" },
    { arm: "b", data: "y", seed: "2" },
    { arm: "b", data: "y", seed: "10" },
  ]);
  assertEquals(missing(({ data, arm }) => data === "x" && arm === "b").length, 3);
  // A value of which there is nothing is said once, elsewhere.
  assertEquals(missing(({ arm }) => arm === "b"), []);
});

Deno.test("a cell of which one of two files is there is missing", () => {
  const there = [run({ arm: "a", seed: "0" }), run({ arm: "a", seed: "1" })];
  const grid = { values: { arm: ["a"], seed: ["0", "1"] }, exclude: [], each: [["arm", "seed"]] };
  const { study } = studyOf(studyParams(), there);
  const missing = (artifacts: readonly { at: Record<string, string> }[]) =>
    missingRuns(study, {
      artifacts,
      grid: { ...grid, each: [...grid.each, ...grid.each] },
      absent: [],
    });
  assertEquals(missing([...there, ...there]), []);
  assertEquals(missing([...there, there[0]!]), [{ arm: "a", seed: "1" }]);
});

Deno.test("without a measurement there is a study of nothing", () => {
  const { study, sources } = studyOf(studyParams(), []);
  assertEquals([study.axes, study.corpora, study.tidy, sources.tables], [[], [], {}, {}]);
});

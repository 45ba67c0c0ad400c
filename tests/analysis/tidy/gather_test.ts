import { assertEquals, assertThrows } from "@std/assert";
import { axesSchema } from "../../../analysis/spec/axes.ts";
import { sourceOf } from "../../../analysis/results.ts";
import { gather } from "../../../analysis/tidy/gather.ts";
import { StageError } from "../../../pipeline/errors.ts";
import { measured } from "./measured.ts";

const order = (axes: unknown = {}) => ({ axes: axesSchema.parse(axes), seeds: "seed" });

Deno.test("files of one row join where their coordinates agree, and what one lacks is null", () => {
  const tested = measured({ arm: "a", seed: "0" }, { runs: { accuracy: [0.5] } });
  const trained = measured({ arm: "a", seed: "0" }, { runs: { steps: [12] } });
  const other = measured({ arm: "b", seed: "0" }, { runs: { steps: [13] } });
  const { tidy, sources } = gather([other, tested, trained], order());
  assertEquals(tidy["runs"], {
    name: "runs",
    axes: ["arm", "seed"],
    columns: { arm: ["a", "b"], seed: ["0", "0"], accuracy: [0.5, null], steps: [12, 13] },
    length: 2,
  });
  const at = (row: number, column: string) =>
    sourceOf({ tables: sources }, { table: "runs", row, column });
  assertEquals(at(0, "accuracy"), tested.sha256);
  assertEquals(at(0, "steps"), trained.sha256);
  assertEquals(at(1, "steps"), other.sha256);
  assertEquals(at(2, "steps"), undefined);
});

Deno.test("rows come by axes as described, then by name, the seeds last; values as described, then by number, then by code unit", () => {
  const files = ["10", "9", "late", "Early", "first", "second"].flatMap((size) =>
    ["1", "0"].map((seed) => measured({ seed, size, colour: "red" }, { runs: { x: [1] } }))
  );
  const { tidy } = gather(
    files,
    order({
      seed: { title: "Seed" },
      size: { title: "Size", values: { second: "2nd", first: "1st" } },
    }),
  );
  const { axes, columns } = tidy["runs"]!;
  assertEquals(axes, ["size", "colour", "seed"]);
  assertEquals(
    columns["size"]!.filter((_, row) => row % 2 === 0),
    ["second", "first", "9", "10", "Early", "late"],
  );
  assertEquals(columns["seed"]!.slice(0, 2), ["0", "1"]);
});

Deno.test("the order of the files changes nothing", () => {
  const files = ["a", "b"].flatMap((arm) =>
    ["0", "1"].map((seed) =>
      measured({ arm, seed }, { runs: { x: [arm.length] }, curve: { epoch: [1, 2], y: [3, 4] } })
    )
  );
  assertEquals(gather(files, order()), gather(files.toReversed(), order()));
});

Deno.test("a series keeps its order, and its rows have their file's coordinates", () => {
  const curve = { epoch: [3, 1, 2], loss: [0.1, null, 0.2] };
  const { tidy, sources } = gather([measured({ seed: "1" }, { curve })], order());
  assertEquals(tidy["curve"]!.columns, { seed: ["1", "1", "1"], ...curve });
  assertEquals(sources["curve"]!.map(({ rows }) => rows), [3]);
});

Deno.test("columns of texts named like an axis are coordinates of what was measured together", () => {
  const timed = measured({ data: "x" }, {
    rounds: { arm: ["b", "a", "b", "a"], round: [0, 0, 1, 1], ms: [1, 2, 3, 4] },
  });
  const { tidy } = gather(
    [timed, measured({ arm: "a", data: "x" }, { runs: { y: [0] } })],
    order(),
  );
  assertEquals(tidy["rounds"]!.axes, ["arm", "data"]);
  assertEquals(tidy["rounds"]!.columns, {
    arm: ["a", "a", "b", "b"],
    data: ["x", "x", "x", "x"],
    round: [0, 1, 0, 1],
    ms: [2, 4, 1, 3],
  });
});

Deno.test("a grid axis may be called what a stage measures: the coordinate is kept", () => {
  const run = measured({ epochs: "20", seed: "0" }, { runs: { epochs: [7], accuracy: [0.5] } });
  // Counts of documents are no coordinates, though the grid has an axis of that name elsewhere.
  const corpus = measured({}, { corpora: { epochs: [3], kind: ["synthetic"] } });
  const { tidy } = gather([run, corpus], order());
  assertEquals(tidy["runs"]!.columns, { epochs: ["20"], seed: ["0"], accuracy: [0.5] });
  assertEquals(tidy["corpora"]!.axes, []);
});

Deno.test("what is measured twice, at the same place or over other axes is refused in one sentence", () => {
  const at = { arm: "a", seed: "0" };
  const one = measured(at, { runs: { x: [1] } });
  const refused = (files: ReturnType<typeof measured>[], message: string) =>
    assertThrows(() => gather(files, order()), StageError, message);
  refused(
    [one, measured(at, { runs: { x: [2] } })],
    'Cannot gather table "runs": each of its columns must be measured once for arm a, seed 0, ' +
      'found "x" twice',
  );
  refused(
    [one, measured(at, { runs: { y: [1, 2] } })],
    "only single rows join, found 2 rows and others for arm a, seed 0",
  );
  refused(
    [one, measured({ arm: "a" }, { runs: { y: [1] } })],
    "must vary over the same axes, found arm a, seed 0 and arm a",
  );
});

Deno.test("a file that is no measurement is refused by its coordinates", () => {
  const file = measured({ arm: "a" }, {});
  Deno.writeTextFileSync(file.path, '{"accuracy":1}');
  assertThrows(
    () => gather([file], order()),
    StageError,
    "Cannot read the measurements of arm a: it must be a measurements file, found format null",
  );
});

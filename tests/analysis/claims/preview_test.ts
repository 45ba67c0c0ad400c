import { assert, assertEquals } from "@std/assert";
import { previewOf } from "../../../analysis/claims/preview.ts";
import { gridOf } from "../../../analysis/grid.ts";
import { aggregate } from "../../../stages/aggregate.ts";

const CLAIM = {
  ...{ statement: "Gates help", metric: "accuracy", at: { text: "long", arm: "gate" } },
  ...{ against: { arm: "add" }, smallest: 1, printed: 4, spread: 2 },
};

/** What a plan says of some claims, by claim: seeds, truth and the chance that nothing can be said. */
function preview(
  claims: readonly object[],
  { grid = {}, exclude = [] }: {
    grid?: Record<string, string[]>;
    exclude?: Record<string, string[]>[];
  } = {},
) {
  const values = { text: ["long", "short"], arm: ["add", "gate"], seed: ["0", "1", "2"], ...grid };
  const params = aggregate.params.parse({
    metrics: { accuracy: { title: "Accuracy" } },
    claims: claims.map((claim, index) => ({ id: `X${index}`, ...CLAIM, ...claim })),
    grid: gridOf({ at: {}, grid: values, exclude }, [["text", "arm", "seed"]]),
  });
  const said = previewOf(params);
  assert("rows" in said);
  return {
    rows: said.rows.filter(([, , truth]) => truth !== "nothing has an effect")
      .map(([id, seeds, truth, , , , underpowered]) => [id, seeds, truth, underpowered]),
    notes: said.notes,
  };
}

const RIGHT = "the paper is exactly right";

Deno.test("a plan's chances are those of the seeds that all runs of a claim are asked for with", () => {
  const over = { at: { arm: "gate" }, over: { text: ["long", "short"] } };
  const claims = [{}, { at: { text: "short", arm: "gate" } }, over];
  const of = (exclude: Record<string, string[]>[]) => preview(claims, { exclude }).rows;
  const whole = of([]);
  assertEquals(whole.map(([id, seeds]) => [id, seeds]), [["X0", "3"], ["X1", "3"], ["X2", "3"]]);
  // Of the long text one seed is left, and with it of means over texts: no test can be taken.
  const less = of([{ text: ["long"], seed: ["1", "2"] }]);
  assertEquals(less[0], ["X0", "1", RIGHT, "100 %"]);
  // Its own seeds are all there; only the correction may be another, since the others show nothing.
  assertEquals(less[1]!.slice(0, 3), ["X1", "3", RIGHT]);
  assertEquals(less[2], ["X2", "1", RIGHT, "100 %"]);
  // What is compared with lacks two seeds.
  assertEquals(of([{ text: ["long"], arm: ["add"], seed: ["0", "2"] }])[0], less[0]);
  // What a stage that does not vary over an axis leaves out is none of the run's.
  assertEquals(of([{ text: ["long"], seed: ["1"], choice: ["b"] }]), whole);
});

Deno.test("a plan names the claims that its grid has no runs of, and those of which too little is known", () => {
  const claims = [{}, { at: { text: "short", arm: "gate" } }, { spread: undefined }];
  const { rows, notes } = preview(claims, { grid: { text: ["long"] } });
  assertEquals(rows.map(([id]) => id), ["X0"]);
  assertEquals(notes, [
    "Not run with these values of the grid: X1.",
    "Of X2 nothing says how far seeds spread; a claim's spread is a guess at it.",
  ]);
  assertEquals(preview([{}]).notes, []);
});

Deno.test("where a paper prints nothing, chances are of the claim's own size", () => {
  const { rows } = preview([{ printed: undefined }]);
  assertEquals(rows[0]![2], "the claim is exactly right");
});

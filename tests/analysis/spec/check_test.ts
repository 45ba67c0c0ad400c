import { assertEquals } from "@std/assert";
import { aggregate } from "../../../stages/aggregate.ts";

const CLAIM = {
  id: "C1",
  statement: "Strong decay helps",
  source: "own",
  metric: "accuracy",
  at: { decay: "strong" },
  against: { decay: "none" },
  smallest: 1,
};
const TABLE = { caption: "Accuracy", rows: ["decay"], columns: [{ metric: "accuracy" }] };

/** What is wrong with a claim and a table of runs over decay, depth and seeds. */
async function found({ claim = {}, table = {}, name = "main", more = {} }: {
  claim?: Record<string, unknown>;
  table?: Record<string, unknown>;
  name?: string;
  more?: Record<string, unknown>;
}): Promise<string[]> {
  const axes = { decay: ["none", "strong"], depth: ["0", "1"], seed: ["0", "1", "2"] };
  const params = aggregate.params.parse({
    metrics: { accuracy: { title: "Accuracy" } },
    claims: [{ ...CLAIM, at: { decay: "strong", depth: 0 }, ...claim }],
    tables: { [name]: { ...TABLE, ...table } },
    ...more,
  });
  const violations = await aggregate.check!(params, {
    axes,
    grid: axes,
    inputs: {
      measurements: [{
        ...{ node: "evaluate", output: "metrics", each: ["decay", "depth", "seed"], at: [] },
        ...{ measures: { runs: ["accuracy"] }, holds: undefined },
      }],
    },
  });
  return violations.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

Deno.test("a claim and a table that name what there is are taken", async () => {
  assertEquals(await found({}), []);
  assertEquals(await found({ claim: { at: { decay: "strong" }, over: { depth: [0, 1] } } }), []);
  const values = { against: undefined, test: "within", bounds: [60, 70] };
  assertEquals(await found({ claim: values }), []);
});

Deno.test("a condition compared with itself is refused", async () => {
  const itself = "claims.0: against must differ from at, found ";
  const same = { against: { decay: "strong" } };
  assertEquals(await found({ claim: same }), [
    `${itself}decay strong, depth 0 compared with itself`,
  ]);
  const among = { at: { depth: 0 }, over: { decay: ["strong", "none"] } };
  assertEquals(await found({ claim: among }), [
    `${itself}depth 0, decay none compared with itself`,
  ]);
});

Deno.test("a test of a sign needs something to compare with", async () => {
  const [message, ...others] = await found({ claim: { against: undefined } });
  assertEquals(others, []);
  assertEquals(message!.split(", found")[0], "claims.0: the test difference needs against");
});

Deno.test("a comparison may not name a seed: it is of all of them", async () => {
  const message = "claims.0: a comparison must be of all values of seed, found some of them named";
  assertEquals(await found({ claim: { against: { seed: 0 } } }), [message]);
  const one = { at: { decay: "strong", depth: 0, seed: 1 } };
  assertEquals(await found({ claim: one }), [message]);
});

Deno.test("a table's axis is rows, columns or averaged over, and that once", async () => {
  assertEquals(await found({ table: { rows: ["decay", "decay"] } }), [
    'tables.main.rows.1: "decay" is there twice',
  ]);
  assertEquals(await found({ table: { across: "decay" } }), [
    'tables.main.across: must be no axis of rows, found "decay"',
  ]);
  const columns = [{ metric: "accuracy", show: "mean", over: ["depth", "decay"] }];
  assertEquals(await found({ table: { columns } }), [
    "tables.main.columns.0.over.1: must be an axis that has no rows or columns of its own, " +
    'found "decay"',
  ]);
});

Deno.test("a declared table can't take the name of one that every analysis has", async () => {
  assertEquals(await found({ name: "every_run" }), [
    "tables.every_run: must have another name: every analysis has a table of this one",
  ]);
});

Deno.test("claims that are judged under each choice name nothing of it, and all else as claims do", async () => {
  const axes = { depth: { title: "Depth", baseline: "0" } };
  const under = (claim: object, sensitivity: object = {}) =>
    found({
      more: {
        axes,
        sensitivity: { axis: "depth", claims: [{ ...CLAIM, ...claim }], ...sensitivity },
      },
    });
  assertEquals(await under({}), []);
  assertEquals(await under({ at: { decay: "strong", depth: 1 } }), [
    'sensitivity.claims.0: must say nothing of "depth", found a value of it',
  ]);
  assertEquals(await under({ at: { decay: "strnog" } }), [
    'sensitivity.claims.0.at.decay: there is no value of decay "strnog"; did you mean "strong"?',
  ]);
  assertEquals(await under({ against: undefined }), [
    "sensitivity.claims.0: the test difference needs against, found none; name what differs in the " +
    "condition to compare with, or judge the values themselves by the test within",
  ]);
  assertEquals(await under({}, { axis: "dept" }), [
    'sensitivity.axis: there is no axis "dept"; did you mean "depth"?',
  ]);
  assertEquals(await under({}, { axis: "decay" }), [
    'sensitivity.axis: must be an axis with a baseline, found none of "decay"',
  ]);
});

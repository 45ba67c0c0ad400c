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
        measures: { runs: { axes: ["decay", "depth", "seed"], columns: ["accuracy"] } },
        holds: undefined,
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

Deno.test("a table's column is of a metric or a column, and a change is from something", async () => {
  const column = (columns: object[], more = {}) =>
    found({ table: { rows: ["decay", "depth"], columns }, more });
  assertEquals(await column([{ show: "n" }, { column: "accuracy" }]), []);
  assertEquals(await column([{ show: "interval" }]), [
    "tables.main.columns.0: interval must have a metric or a column, found neither",
  ]);
  assertEquals(await column([{ metric: "accuracy", column: "accuracy" }]), [
    "tables.main.columns.0: must have a metric or a column, found both",
  ]);
  const change = [{ metric: "accuracy", show: "change" }];
  assertEquals(await column(change), [
    "tables.main.columns.0: change must be from something: name it with against, or give an axis of " +
    "the rows a baseline",
  ]);
  assertEquals(await column(change, { axes: { depth: { title: "Depth", baseline: 0 } } }), []);
});

Deno.test("an axis of a claim is named or averaged over, not both", async () => {
  assertEquals(await found({ claim: { over: { depth: [1] } } }), [
    'claims.0: at names a value of "depth" and over averages over it; name it in one',
  ]);
});

Deno.test("what a source prints is there once, within the metric's range, and for each claim that names it", async () => {
  const row = (depth: string, value: string) => ({
    ...{ source: "Table 1", metric: "accuracy", decay: "none", depth, value },
  });
  const printed = { at: { decay: "none", depth: 0 }, against: undefined, printed: "Table 1" };
  const within = { ...printed, test: "within", bounds: [60, 70] };
  const metrics = { accuracy: { title: "Accuracy", max: 100 } };
  const asked = (...published: object[]) => found({ claim: within, more: { metrics, published } });
  assertEquals(await asked(row("0", "65.0"), row("1", "66.0")), []);
  assertEquals(await asked(row("0", "65.0"), row("0", "66.0")), [
    "published.1: Table 1 has this accuracy already, in a row before",
  ]);
  assertEquals(await asked(row("0", "650")), [
    "published.0.value: must be at most 100, the metric's max, found 650",
  ]);
  // A column for differences makes none of a row that leaves it empty.
  const against = (decay: string) => ({ ...row("0", "650"), "against.decay": decay });
  assertEquals((await asked(row("1", "66.0"), against(""))).length, 1);
  assertEquals(await asked(row("0", "65.0"), against("strong")), []);
  assertEquals(await asked(row("1", "65.0")), [
    "claims.0.printed: Table 1 has no number for none, 0, or none to compare it with",
  ]);
});

Deno.test("a column of what is published that is no axis is said once", async () => {
  const published = ["0", "1"].map((depth) => ({
    ...{ source: "Table 1", metric: "accuracy", decya: "none", depth, value: "65" },
  }));
  assertEquals(await found({ more: { published } }), [
    'published: there is no axis or column "decya"; did you mean "decay"?',
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

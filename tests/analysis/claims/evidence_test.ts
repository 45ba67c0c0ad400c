import { assert, assertEquals, assertThrows } from "@std/assert";
import { evidenceOf } from "../../../analysis/claims/evidence.ts";
import { questionOf } from "../../../analysis/claims/question.ts";
import { ruleOn } from "../../../analysis/claims/ruling.ts";
import { metricsSchema } from "../../../analysis/spec/axes.ts";
import type { Comparison } from "../../../analysis/spec/claims.ts";
import reference from "../../reference/statistics/claims.json" with { type: "json" };

const METRICS = metricsSchema.parse({
  points: { title: "Test accuracy" },
  speed: { title: "Speed", change: "ratio" },
});

const COMPARISON: Comparison = {
  ...{ metric: "points", at: { arm: "b" }, against: { arm: "a" }, than: null, over: {} },
  ...{ test: "difference", direction: "greater", bounds: null, smallest: 1, tolerance: 2 },
  ...{ printed: null, spread: null },
};

type Changes = Partial<Omit<Comparison, "printed">> & { readonly printed?: number | null };

function evidence(sample: readonly number[], { printed = 6.51, ...changes }: Changes = {}) {
  const comparison = { ...COMPARISON, ...changes };
  const metric = METRICS[comparison.metric]!;
  return evidenceOf(sample, questionOf(comparison, { metric, printed }));
}

/** The verdict on a claim that rests on one comparison. */
function verdict(sample: readonly number[], changes: Changes = {}, family = 1) {
  return ruleOn([[evidence(sample, changes)]], { alpha: 0.05, family })[0]!.verdict;
}

Deno.test("p-values for and against every kind of claim agree with SciPy on 250 samples", () => {
  for (const [index, each] of reference.cases.entries()) {
    const { values, smallest, printed } = each;
    const found = evidence(values, {
      test: each.test as Comparison["test"],
      direction: each.direction as "greater" | "less",
      bounds: each.bounds as [number, number],
      smallest,
      printed,
    });
    for (const side of ["for", "against"] as const) {
      const gap = Math.abs(found[side]! - each[side]);
      assert(gap <= 1e-9 * each[side] + 1e-14, `${each.test} ${index}, ${side}: ${found[side]}`);
    }
  }
});

Deno.test("the sign and size that were printed reproduce, the sign alone is direction only", () => {
  assertEquals(verdict([9.5, 2.55, 3.67, 7.83, 9.02]), "reproduced");
  assertEquals(verdict([2.1, 1.8, 2.5, 1.9, 2.2]), "direction only");
  assertEquals(verdict([2.1, 1.8, 2.5, 1.9, 2.2], { printed: null }), "reproduced");
});

Deno.test("opposite signs are never reproduced, however near the printed size", () => {
  const against = [-0.6, -0.5, -0.7, -0.55, -0.65];
  assertEquals(verdict(against, { printed: 0.5 }), "contradicted");
  assertEquals(
    verdict(against.map((x) => -x), { printed: -0.5, direction: "less" }),
    "contradicted",
  );
});

Deno.test("ruling out every difference that matters contradicts a claim of one", () => {
  const none = [0.05, -0.1, 0.1, -0.05, 0.02];
  assertEquals(verdict(none), "contradicted");
  assertEquals(verdict(none, { printed: null }), "contradicted");
});

Deno.test("a printed effect that does not matter is confirmed by ruling out those that do", () => {
  const none = [0.05, -0.1, 0.1, -0.05, 0.02];
  assertEquals(verdict(none, { printed: 0.3 }), "equivalent");
  // Only the opposite sign beyond chance refutes it.
  assertEquals(verdict([-0.2, -0.3, -0.25, -0.22, -0.28], { printed: 0.3 }), "contradicted");
  assertEquals(verdict([0.2, 0.3, 0.25, 0.22, 0.28], { printed: 0.3 }), "reproduced");
  // Neither is it equivalent where the paper's own difference matters.
  assertEquals(verdict(none, { printed: -6.51 }), "underpowered");
});

Deno.test("a wide spread is underpowered, and so is one seed", () => {
  assertEquals(verdict([9, -5, 2, 8, -3]), "underpowered");
  assertEquals(verdict([6.5]), "underpowered");
  assertEquals(verdict([]), "not run");
});

const SIGN = { test: "sign" } as const;

Deno.test("a sign that cannot be distinguished from zero contradicts no claim about every seed", () => {
  const one = [1, 2, 3, 4, -0.1];
  assertEquals(verdict(one, SIGN), "underpowered");
  assertEquals(verdict([-1, -2, -3, -4, -5], SIGN), "contradicted");
});

Deno.test("a claim about every seed needs every seed; most of them are direction only", () => {
  const ten = [5, 6, 7, 8, 6, 7, 5, 8, 6, 7];
  assertEquals(verdict(ten, SIGN), "reproduced");
  assertEquals(verdict([...ten, -1], SIGN), "direction only");
  assertEquals(verdict([...ten, 0], SIGN), "direction only");
});

Deno.test("ties and fewer than two signs say nothing of signs", () => {
  for (const sample of [[0, 0, 0, 0, 0], [5], [5, 0, 0], [-5, 0]]) {
    const found = evidence(sample, SIGN);
    assertEquals([found.for, found.against], [null, null]);
    assertEquals(verdict(sample, SIGN), "underpowered");
  }
});

Deno.test("equivalence and no-worse claims are decided by their margins", () => {
  const same = { test: "equivalence", printed: null } as const;
  assertEquals(verdict([0.1, -0.2, 0.05, -0.1, 0.15], same), "reproduced");
  assertEquals(verdict([3, 3.1, 2.9, 3.2, 2.8], same), "contradicted");
  assertEquals(verdict([3, -3.1, 0.9, 0.2, -1.8], same), "underpowered");
  const worse = { test: "noninferiority", printed: null } as const;
  assertEquals(verdict([-0.2, -0.1, 0, 0.1, -0.1], worse), "reproduced");
  assertEquals(verdict([-3, -3.1, -2.9, -3.2, -2.8], worse), "contradicted");
  assertEquals(verdict([0.2, 0.1, 0, -0.1, 0.1], { ...worse, direction: "less" }), "reproduced");
});

Deno.test("slower by 30 to 35 percent is an interval: 31 is in it, 25 and 45 are not", () => {
  const slower: Changes = {
    ...{ metric: "speed", test: "within", bounds: [-35, -30], printed: -31, tolerance: 5 },
  };
  const percent = (mean: number) =>
    [-0.2, -0.1, 0, 0.1, 0.2].map((by) => Math.log(1 + (mean + by) / 100));
  assertEquals(verdict(percent(-31), slower), "reproduced");
  assertEquals(verdict(percent(-25), slower), "contradicted");
  assertEquals(verdict(percent(-45), slower), "contradicted");
  assertEquals(verdict(percent(-30), slower), "underpowered");
});

Deno.test("a value within bounds is judged without anything to compare it with", () => {
  const value = { test: "within", against: null, bounds: [87.8, 89.8], printed: 88.8 } as const;
  assertEquals(verdict([88.7, 88.9, 88.8, 88.6, 89], value), "reproduced");
  assertEquals(verdict([91.7, 91.9, 91.8, 91.6, 92], value), "contradicted");
});

Deno.test("equal differences have the exact sign test against the bound, zeros none against zero", () => {
  const zeros = [0, 0, 0, 0, 0, 0];
  const found = evidence(zeros);
  assertEquals([found.for, found.against], [null, 1 / 64]);
  assertEquals(evidence(zeros, { test: "equivalence" }).for, 1 / 64);
  assertEquals(verdict(zeros, { test: "equivalence", printed: 0 }), "reproduced");
  // Two bit-equal runs are too few.
  assertEquals(verdict([0, 0], { test: "equivalence", printed: 0 }), "underpowered");
  assertEquals(evidence([3, 3, 3]).for, 1 / 8);
});

Deno.test("a claim's p-value is its comparisons' largest, that against it their smallest, times their number", () => {
  const [weak, strong, opposite] = [
    evidence([9, 3, 2, 8, 5]),
    evidence([6.4, 6.5, 6.6, 6.5, 6.3]),
    evidence([-3, -4, -3.5, -3.2, -3.8]),
  ];
  const options = { alpha: 0.05, family: 9 };
  const [both] = ruleOn([[weak, strong]], options);
  assertEquals(both!.p, Math.min(1, weak.for! * 9));
  const [refuted] = ruleOn([[strong, opposite]], options);
  assertEquals(refuted!.against, opposite.against! * 2 * 9);
  assertEquals(refuted!.verdict, "contradicted");
});

Deno.test("claims that cannot be tested, or are judged elsewhere, count in the correction", () => {
  const good = evidence([6.4, 6.5, 6.6, 6.5, 6.3]);
  const [first, second] = ruleOn([[good], [good], [evidence([])]], { alpha: 0.05, family: 7 });
  assertEquals([first!.p, second!.p], [good.for! * 7, good.for! * 7]);
});

Deno.test("a claim of which a part was not run can be contradicted, not reproduced", () => {
  const options = { alpha: 0.05, family: 1 };
  const rule = (sample: number[]) => ruleOn([[evidence(sample), evidence([])]], options)[0];
  assertEquals(rule([6.4, 6.5, 6.6, 6.5])!.verdict, "not run");
  assertEquals(rule([-6.4, -6.5, -6.6, -6.5])!.verdict, "contradicted");
});

Deno.test("a test without the size that it needs is refused", () => {
  assertThrows(
    () => evidence([1], { test: "equivalence", smallest: null }),
    RangeError,
    "equivalence needs smallest",
  );
  assertThrows(
    () => evidence([1], { test: "within", bounds: [2, 1] }),
    RangeError,
    "bounds in order, found [2,1]",
  );
});

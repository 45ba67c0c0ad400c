import { assert, assertEquals, assertThrows } from "@std/assert";
import { bootstrapInterval, resampledMeans } from "../../../analysis/statistics/bootstrap.ts";
import { holm } from "../../../analysis/statistics/holm.ts";
import { normalTail } from "../../../analysis/statistics/normal.ts";
import {
  type Alternative,
  signedRankTest,
  signTest,
  tTest,
} from "../../../analysis/statistics/hypothesis_tests.ts";
import {
  equivalencePower,
  fewestSeeds,
  signPower,
  tTestPower,
} from "../../../analysis/statistics/power.ts";
import { moments } from "../../../analysis/statistics/sample.ts";
import claims from "../../reference/statistics/claims.json" with { type: "json" };
import reference from "../../reference/statistics/tests.json" with { type: "json" };

/** Asserts agreement to 1e-9 of the expected value's size. */
function near(actual: number, expected: number, what: string, floor = 1e-15) {
  const gap = Math.abs(actual - expected);
  assert(gap <= 1e-9 * Math.abs(expected) + floor, `${what}: ${actual} against ${expected}`);
}

const of = (text: string) => text as Alternative;

Deno.test("paired t tests agree with SciPy on 240 random samples", () => {
  for (const [index, each] of reference.cases.entries()) {
    const ours = tTest(moments(each.values), { alternative: of(each.alternative) })!;
    near(ours, each.t_p, `p of case ${index}`);
  }
});

Deno.test("tests against a margin agree with statsmodels on 240 random samples", () => {
  for (const [index, each] of reference.cases.entries()) {
    const [low, high] = each.bounds as [number, number];
    const known = moments(each.values);
    const lower = tTest(known, { alternative: "greater", against: low })!;
    const upper = tTest(known, { alternative: "less", against: high })!;
    near(lower, each.tost_lower_p, `lower p of case ${index}`);
    near(upper, each.tost_upper_p, `upper p of case ${index}`);
    near(Math.max(lower, upper), each.tost_p, `p of case ${index}`);
  }
});

Deno.test("exact signed-rank and sign tests agree with SciPy on 240 random samples", () => {
  for (const [index, each] of reference.cases.entries()) {
    const alternative = of(each.alternative);
    near(signedRankTest(each.values, alternative), each.wilcoxon_p, `ranks of case ${index}`);
    near(signTest(each.values, alternative), each.sign_p, `signs of case ${index}`);
  }
});

Deno.test("signed-rank tests with ties and zeros agree with the enumerated distribution", () => {
  for (const [index, each] of reference.ties.entries()) {
    near(signedRankTest(each.values, of(each.alternative)), each.p, `case ${index}`);
  }
});

Deno.test("Holm's correction agrees with statsmodels on 200 random families", () => {
  for (const each of reference.holm) {
    holm(each.p).forEach((p, index) => near(p, each.adjusted[index]!, "adjusted p"));
  }
});

Deno.test("Holm's correction of part of a family is never smaller than that of all of it", () => {
  for (const each of reference.holm) {
    const known = each.p.slice(0, Math.ceil(each.p.length / 2));
    holm(known, { family: each.p.length }).forEach((p, index) =>
      assert(p >= each.adjusted[index]! - 1e-12, `${p} against ${each.adjusted[index]}`)
    );
  }
  // The smallest of two known ones counts five times, as the first of five would.
  assertEquals(holm([0.02, 0.01], { family: 5 }), [0.08, 0.05]);
});

Deno.test("power of an equivalence test is never above SciPy's, and near it where it is large", () => {
  for (const { power, n, bounds, ...plan } of claims.equivalence) {
    const ours = equivalencePower({ ...plan, bounds: bounds as [number, number] }, n);
    assert(ours <= power + 1e-7, `${ours} against ${power}`);
    if (power > 0.9) assert(Math.abs(ours - power) < 1e-3, `${ours} against ${power}`);
  }
});

Deno.test("power of the exact sign test is SciPy's", () => {
  for (const { power, n, ...plan } of claims.sign_power) {
    near(signPower(plan, n), power, `${n} seeds`, 1e-12);
  }
});

/** Power of the test of a mean difference of `effect` standard deviations. */
function power(effect: number, n: number, alpha: number, alternative = "two-sided"): number {
  const plan = { sd: 1, alpha: alternative === "two-sided" ? alpha / 2 : alpha };
  const greater = alternative === "less" ? 0 : tTestPower({ ...plan, effect }, n);
  const less = alternative === "greater" ? 0 : tTestPower({ ...plan, effect: -effect }, n);
  return greater + less;
}

Deno.test("power agrees with numerical integration to 1e-9 on 200 random plans", () => {
  for (const [effect, n, alpha, alternative, expected] of reference.power) {
    const ours = power(effect as number, n as number, alpha as number, alternative as string);
    assert(
      Math.abs(ours - (expected as number)) < 1e-9,
      `${[effect, n, alpha, alternative]}: ${ours} against ${expected}`,
    );
  }
});

Deno.test("the number of seeds needed is statsmodels'", () => {
  for (const [effect, wanted, expected] of reference.seeds as [number, number, number][]) {
    const found = fewestSeeds((n) => power(effect, n, 0.05), { power: wanted });
    assertEquals(found, expected, `effect ${effect}`);
  }
  assertEquals(fewestSeeds((n) => power(0.001, n, 0.05), { power: 0.8, max: 100 }), null);
});

Deno.test("bootstrap intervals of few values are those of all resamples", () => {
  for (const { values, level, interval } of reference.bootstrap) {
    const ours = bootstrapInterval(values, { confidence: level });
    if (values.length < 3) assertEquals(ours, null);
    if (ours === null) continue;
    near(ours[0], interval[0]!, "low", 1e-12);
    near(ours[1], interval[1]!, "high", 1e-12);
  }
});

Deno.test("drawn resamples are NumPy's for the same random words", () => {
  for (const { values, words, means } of reference.drawn) {
    const ours = resampledMeans(values, Uint32Array.from(words));
    means.forEach((mean, index) => near(ours[index]!, mean, "mean", 1e-12));
  }
});

Deno.test("drawn bootstrap intervals depend on the seed alone and come close to Student's", () => {
  const values = Array.from({ length: 40 }, (_, i) => Math.sin(i) + i / 40);
  const first = bootstrapInterval(values, { seed: 1 })!;
  assertEquals(bootstrapInterval(values, { seed: 1 }), first);
  assert(bootstrapInterval(values, { seed: 2 })![0] !== first[0]);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const half = 2.0227 * moments(values).sd! / Math.sqrt(40);
  assert(Math.abs(first[0] - (mean - half)) < 0.1 * half, `${first} around ${mean} ± ${half}`);
  assert(Math.abs(first[1] - (mean + half)) < 0.1 * half);
});

Deno.test("the normal tail agrees with SciPy far out", () => {
  for (const [z, expected] of reference.normal as [number, number][]) {
    near(normalTail(z), expected, `z ${z}`, 1e-200);
  }
});

Deno.test("samples too small for a test are distinguished from failed ones", () => {
  assertEquals(tTest(moments([0.1])), null);
  assertEquals(bootstrapInterval([1]), null);
  assertEquals(signTest([0, 0]), 1);
  assertThrows(() => holm([0.5, 1.5]), RangeError, "within 0..1");
});

import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  studentTQuantile,
  studentTTail,
  studentTTwoSided,
} from "../../../analysis/statistics/student_t.ts";
import { summarize } from "../../../analysis/statistics/sample.ts";
import reference from "../../reference/statistics/student_t.json" with { type: "json" };

/** Asserts agreement to 1e-9 of the expected value's size, or of 1e-12 near zero. */
function near(actual: number, expected: number, what: string) {
  const gap = Math.abs(actual - expected);
  assert(gap <= 1e-9 * Math.abs(expected) + 1e-21, `${what}: ${actual} against ${expected}`);
}

Deno.test("Student t quantiles agree with SciPy to 1e-9", () => {
  for (const [p, df, expected] of reference.quantiles as [number, number, number][]) {
    if (p === 0.5) assertEquals(studentTQuantile(p, df), 0);
    else near(studentTQuantile(p, df), expected, `p ${p}, df ${df}`);
  }
});

Deno.test("Student t tails agree with SciPy to 1e-9 of their size, far tails included", () => {
  for (const [t, df, expected] of reference.tails as [number, number, number][]) {
    near(studentTTail(t, df), expected, `t ${t}, df ${df}`);
  }
});

Deno.test("means, standard deviations and intervals agree with SciPy", () => {
  for (const [values, mean, sd, low, high] of reference.samples) {
    const ours = summarize(values as number[]);
    near(ours.mean, mean as number, "mean");
    near(ours.sd!, sd as number, "sd");
    if (ours.interval === null) {
      assertEquals(ours.n, 2);
      continue;
    }
    const scale = Math.abs(low as number) + Math.abs(high as number);
    assert(Math.abs(ours.interval[0] - (low as number)) <= 1e-9 * scale);
    assert(Math.abs(ours.interval[1] - (high as number)) <= 1e-9 * scale);
  }
});

Deno.test("tails of Student t are complementary and the extremes are exact", () => {
  assertEquals(studentTTail(0, 3), 0.5);
  assertEquals(studentTTail(Infinity, 3), 0);
  assertEquals(studentTTail(1e200, 2), 0);
  assertEquals(studentTTwoSided(-2, 4), studentTTwoSided(2, 4));
  // One degree of freedom is the Cauchy distribution: P(T > 1) = 1/4.
  near(studentTTail(1, 1), 0.25, "Cauchy");
});

Deno.test("a single value has a mean but neither spread nor interval, two no interval", () => {
  assertEquals(summarize([0.5]), { n: 1, mean: 0.5, sd: null, interval: null });
  assertEquals(summarize([0.5, 1.5]).interval, null);
});

Deno.test("impossible arguments are refused", () => {
  assertThrows(() => studentTQuantile(1, 4), RangeError, "strictly between 0 and 1");
  assertThrows(() => studentTTail(1, 2.5), RangeError, "whole number");
  assertThrows(() => summarize([]), RangeError, "at least one value");
  assertThrows(() => summarize([1, NaN]), RangeError, "finite");
});

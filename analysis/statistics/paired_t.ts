/**
 * Student's test of paired differences, against zero and against a margin.
 *
 * @module
 */
import { type Moments, moments, type SampleSummary, summarize } from "./sample.ts";
import { studentTTail, studentTTwoSided } from "./student_t.ts";

export type Alternative = "two-sided" | "greater" | "less";

/** A test's statistic, degrees of freedom and p-value. */
export interface TTest {
  readonly t: number;
  readonly df: number;
  readonly p: number;
}

/**
 * t test that the mean of paired differences is `options.against` (0 if left out).
 *
 * @returns `null` for fewer than two differences, or if all are equal: where accuracies are counts
 * of few documents that happens by chance, and without a spread there is nothing to judge by.
 */
export function pairedTTest(
  differences: readonly number[],
  options: { readonly alternative?: Alternative; readonly against?: number } = {},
): TTest | null {
  return differences.length < 2 ? null : tTest(moments(differences), options);
}

/** {@linkcode pairedTTest} of differences whose moments are known. */
export function tTest(
  { n, mean, sd }: Moments,
  options: { readonly alternative?: Alternative; readonly against?: number } = {},
): TTest | null {
  // Neither one value nor equal ones have a spread to judge by.
  if (!sd) return null;
  const t = (mean - (options.against ?? 0)) / (sd / Math.sqrt(n));
  const df = n - 1;
  switch (options.alternative ?? "two-sided") {
    case "two-sided":
      return { t, df, p: studentTTwoSided(t, df) };
    case "greater":
      return { t, df, p: studentTTail(t, df) };
    case "less":
      return { t, df, p: studentTTail(-t, df) };
  }
}

/** An equivalence test: both one-sided tests and the interval that decides it. */
export interface Equivalence {
  /** The greater of the two one-sided p-values. */
  readonly p: number;
  readonly lower: TTest;
  readonly upper: TTest;
  /** The 1 − 2α interval: within the bounds exactly if p < α. */
  readonly interval: readonly [number, number];
}

/**
 * Two one-sided tests that the mean difference lies within `bounds` (Schuirmann 1987).
 *
 * @returns `null` where {@linkcode pairedTTest} does.
 * @throws {RangeError} If the bounds are not in order.
 */
export function equivalenceTest(
  differences: readonly number[],
  options: { readonly bounds: readonly [number, number]; readonly alpha?: number },
): Equivalence | null {
  const [low, high] = options.bounds;
  if (!(low < high)) {
    throw new RangeError(`equivalenceTest: bounds must be in order, got [${low}, ${high}]`);
  }
  const lower = pairedTTest(differences, { alternative: "greater", against: low });
  const upper = pairedTTest(differences, { alternative: "less", against: high });
  if (lower === null || upper === null) return null;
  const summary: SampleSummary = summarize(differences, 1 - 2 * (options.alpha ?? 0.05));
  return { p: Math.max(lower.p, upper.p), lower, upper, interval: summary.interval! };
}

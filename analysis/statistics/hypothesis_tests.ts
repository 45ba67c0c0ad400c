/**
 * Tests of paired differences: Student's, and exact ones that assume no normal distribution.
 *
 * @module
 */
import { countSigns, type Moments } from "./sample.ts";
import { studentTTail, studentTTwoSided } from "./student_t.ts";

export type Alternative = "two-sided" | "greater" | "less";

/** Above this the exact distribution takes too long; no experiment here has so many seeds. */
const MAX_PAIRS = 400;

/**
 * p-value of the t test that the mean of paired differences is `options.against` (0 if left out).
 *
 * @returns `null` for fewer than two differences, or if all are equal: where accuracies are counts
 * of few documents that happens by chance, and without a spread there is nothing to judge by.
 */
export function tTest(
  { n, mean, sd }: Moments,
  options: { readonly alternative?: Alternative; readonly against?: number } = {},
): number | null {
  if (!sd) return null;
  const t = (mean - (options.against ?? 0)) / (sd / Math.sqrt(n));
  switch (options.alternative ?? "two-sided") {
    case "two-sided":
      return studentTTwoSided(t, n - 1);
    case "greater":
      return studentTTail(t, n - 1);
    case "less":
      return studentTTail(-t, n - 1);
  }
}

/** p-value of the exact sign test: binomial with probability ½; zeros are left out. */
export function signTest(
  differences: readonly number[],
  alternative: Alternative = "two-sided",
): number {
  const { positive, negative } = countSigns(differences);
  // Each unit weight shifts the count by one: the binomial distribution.
  const distribution = sumDistribution(Array.from({ length: positive + negative }, () => 1));
  return tailOf(distribution, positive, alternative);
}

/**
 * p-value of Wilcoxon's signed-rank test by its exact permutation distribution; zeros are left out,
 * equal sizes share their mean rank.
 */
export function signedRankTest(
  differences: readonly number[],
  alternative: Alternative = "two-sided",
): number {
  const nonzero = differences.filter((value) => value !== 0);
  // Twice the mean rank is whole, ties or not.
  const doubled = doubledRanks(nonzero.map(Math.abs));
  let positive = 0;
  nonzero.forEach((value, index) => {
    if (value > 0) positive += doubled[index]!;
  });
  return tailOf(sumDistribution(doubled), positive, alternative);
}

function doubledRanks(sizes: readonly number[]): number[] {
  return sizes.map((size) => {
    const below = sizes.filter((other) => other < size).length;
    const equal = sizes.filter((other) => other === size).length;
    return 2 * below + equal + 1;
  });
}

/** Probabilities of the sums of a random half of `weights`: each is in with probability ½. */
function sumDistribution(weights: readonly number[]): Float64Array {
  if (weights.length > MAX_PAIRS) {
    throw new RangeError(
      `an exact test takes at most ${MAX_PAIRS} nonzero differences, got ${weights.length}`,
    );
  }
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const distribution = new Float64Array(total + 1);
  distribution[0] = 1;
  let reach = 0;
  for (const weight of weights) {
    reach += weight;
    for (let sum = reach; sum >= 0; sum--) {
      const without = distribution[sum]!;
      const within = sum >= weight ? distribution[sum - weight]! : 0;
      distribution[sum] = (without + within) / 2;
    }
  }
  return distribution;
}

function tailOf(distribution: Float64Array, observed: number, alternative: Alternative): number {
  let below = 0;
  let above = 0;
  for (let sum = 0; sum <= observed; sum++) below += distribution[sum]!;
  for (let sum = distribution.length - 1; sum >= observed; sum--) above += distribution[sum]!;
  switch (alternative) {
    case "two-sided":
      return Math.min(1, 2 * Math.min(below, above));
    case "greater":
      return Math.min(1, above);
    case "less":
      return Math.min(1, below);
  }
}

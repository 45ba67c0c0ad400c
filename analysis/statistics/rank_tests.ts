/**
 * Exact tests of paired differences that assume no normal distribution.
 *
 * @module
 */
import type { Alternative } from "./paired_t.ts";

/** Above this the exact distribution takes too long; no experiment here has so many seeds. */
const MAX_PAIRS = 400;

/** Outcome of a sign test. */
export interface SignTest {
  readonly positive: number;
  readonly negative: number;
  readonly p: number;
}

/** Exact sign test: binomial with probability ½; zeros are left out. */
export function signTest(
  differences: readonly number[],
  alternative: Alternative = "two-sided",
): SignTest {
  const positive = differences.filter((value) => value > 0).length;
  const negative = differences.filter((value) => value < 0).length;
  const n = positive + negative;
  requireFew(n, "signTest");
  // Each unit weight shifts the count by one: the binomial distribution.
  const distribution = sumDistribution(Array.from({ length: n }, () => 1));
  return { positive, negative, p: tailOf(distribution, positive, alternative) };
}

/** Outcome of a signed-rank test. */
export interface SignedRankTest {
  /** Sum of the ranks of positive differences. */
  readonly positiveRanks: number;
  /** Sum of the ranks of negative differences. */
  readonly negativeRanks: number;
  readonly p: number;
}

/**
 * Wilcoxon's signed-rank test by its exact permutation distribution; zeros are left out, equal
 * sizes share their mean rank.
 */
export function signedRankTest(
  differences: readonly number[],
  alternative: Alternative = "two-sided",
): SignedRankTest {
  const nonzero = differences.filter((value) => value !== 0);
  requireFew(nonzero.length, "signedRankTest");
  // Twice the mean rank is whole, ties or not.
  const doubled = doubledRanks(nonzero.map(Math.abs));
  const total = doubled.reduce((sum, rank) => sum + rank, 0);
  let positive = 0;
  nonzero.forEach((value, index) => {
    if (value > 0) positive += doubled[index]!;
  });
  const p = tailOf(sumDistribution(doubled), positive, alternative);
  return { positiveRanks: positive / 2, negativeRanks: (total - positive) / 2, p };
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

function requireFew(n: number, name: string): void {
  if (n > MAX_PAIRS) {
    throw new RangeError(`${name}: takes at most ${MAX_PAIRS} nonzero differences, got ${n}`);
  }
}

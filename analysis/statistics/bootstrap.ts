/**
 * Percentile bootstrap interval of a mean.
 *
 * @module
 */
import { streamKey, words } from "../../models/random.ts";
import { FEWEST_FOR_INTERVAL } from "./sample.ts";

/** Up to this many values every resample is counted, C(2n−1, n) of them, instead of drawn. */
const EXACT_UP_TO = 8;
const RESAMPLES = 10_000;

/**
 * Percentile interval of the mean under resampling (Efron 1979).
 *
 * For at most eight values the resampling distribution is enumerated and the interval exact;
 * above, resamples are drawn from a counter-based stream, so that a seed fixes the interval.
 *
 * @returns `null` for fewer than three values.
 */
export function bootstrapInterval(
  values: readonly number[],
  { confidence = 0.95, seed = 0 }: { readonly confidence?: number; readonly seed?: number } = {},
): readonly [number, number] | null {
  const n = values.length;
  if (n < FEWEST_FOR_INTERVAL) return null;
  const tail = (1 - confidence) / 2;
  if (n <= EXACT_UP_TO) return exactInterval(values, tail);
  const means = resampledMeans(values, words(streamKey(seed, "bootstrap"), RESAMPLES * n)).sort();
  const at = (probability: number) => means[Math.max(0, Math.ceil(probability * RESAMPLES) - 1)]!;
  return [at(tail), at(1 - tail)];
}

/** Means of resamples; each word of 32 bits picks one value, `n` words make one resample. */
export function resampledMeans(values: readonly number[], drawn: Uint32Array): Float64Array {
  const n = values.length;
  const means = new Float64Array(Math.floor(drawn.length / n));
  for (let sample = 0; sample < means.length; sample++) {
    let total = 0;
    for (let i = 0; i < n; i++) {
      total += values[Math.floor(drawn[sample * n + i]! / 2 ** 32 * n)]!;
    }
    means[sample] = total / n;
  }
  return means;
}

function exactInterval(values: readonly number[], tail: number): readonly [number, number] {
  const n = values.length;
  const outcomes: { mean: number; ways: number }[] = [];
  const counts = new Array<number>(n).fill(0);
  const visit = (index: number, left: number) => {
    if (index === n - 1) {
      counts[index] = left;
      let total = 0;
      counts.forEach((count, i) => total += count * values[i]!);
      outcomes.push({ mean: total / n, ways: multinomial(counts) });
      return;
    }
    for (let count = 0; count <= left; count++) {
      counts[index] = count;
      visit(index + 1, left - count);
    }
  };
  visit(0, n);
  outcomes.sort((a, b) => a.mean - b.mean);
  const all = outcomes.reduce((sum, outcome) => sum + outcome.ways, 0);
  const at = (probability: number) => {
    let seen = 0;
    for (const { mean, ways } of outcomes) {
      seen += ways;
      if (seen >= probability * all) return mean;
    }
    return outcomes.at(-1)!.mean;
  };
  return [at(tail), at(1 - tail)];
}

/** Number of orders of a multiset: n! / Π countᵢ!, a whole number. */
function multinomial(counts: readonly number[]): number {
  let ways = 1;
  let placed = 0;
  for (const count of counts) {
    for (let i = 1; i <= count; i++) {
      placed++;
      ways = ways * placed / i;
    }
  }
  return Math.round(ways);
}

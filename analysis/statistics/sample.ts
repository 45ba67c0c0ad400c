/**
 * Mean, spread and interval of a small sample.
 *
 * @module
 */
import { studentTQuantile } from "./student_t.ts";

/** Size, mean and spread of a sample: what Student's tests need. */
export interface Moments {
  readonly n: number;
  readonly mean: number;
  /** Sample standard deviation, divisor n − 1; null of a single value. */
  readonly sd: number | null;
}

/** The fewest values whose interval is given: of two it is as wide as chance has it. */
export const FEWEST_FOR_INTERVAL = 3;

/** What can be said of a sample. */
export interface SampleSummary extends Moments {
  /** Two-sided Student t interval of the mean; null for fewer than three values. */
  readonly interval: readonly [number, number] | null;
}

/**
 * Summarises a sample; sums run in the order given.
 *
 * @param confidence Coverage of the interval, 0.95 if left out.
 * @throws {RangeError} If there is no value or one is not finite.
 */
export function summarize(values: readonly number[], confidence = 0.95): SampleSummary {
  const { n, mean, sd } = moments(values);
  if (sd === null || n < FEWEST_FOR_INTERVAL) return { n, mean, sd, interval: null };
  const half = studentTQuantile((1 + confidence) / 2, n - 1) * sd / Math.sqrt(n);
  return { n, mean, sd, interval: [mean - half, mean + half] };
}

/** A sample's moments; values that are all equal have a spread of exactly 0. Throws as above. */
export function moments(values: readonly number[]): Moments {
  if (values.length === 0) throw new RangeError("summarize: needs at least one value, got none");
  const bad = values.find((value) => !Number.isFinite(value));
  if (bad !== undefined) throw new RangeError(`summarize: values must be finite, got ${bad}`);
  const n = values.length;
  const mean = sum(values) / n;
  if (n === 1) return { n, mean, sd: null };
  const first = values[0]!;
  if (values.every((value) => value === first)) return { n, mean: first, sd: 0 };
  let squares = 0;
  for (const value of values) squares += (value - mean) * (value - mean);
  return { n, mean, sd: Math.sqrt(squares / (n - 1)) };
}

/**
 * The median; of an even number of values the mean of the two in the middle.
 *
 * @throws {RangeError} If there is no value.
 */
export function median(values: readonly number[]): number {
  if (values.length === 0) throw new RangeError("median: needs at least one value, got none");
  const sorted = [...values].sort((a, b) => a - b);
  const above = sorted[Math.floor(sorted.length / 2)]!;
  return sorted.length % 2 === 1 ? above : (sorted[sorted.length / 2 - 1]! + above) / 2;
}

/** 1 − confidence, without the float's error: 1 − 0.95 is not the float nearest to 0.05. */
export function alphaOf(confidence: number): number {
  return Math.round((1 - confidence) * 1e12) / 1e12;
}

/** How many values are above and below zero. */
export function countSigns(
  values: readonly number[],
): { readonly positive: number; readonly negative: number } {
  return {
    positive: values.filter((value) => value > 0).length,
    negative: values.filter((value) => value < 0).length,
  };
}

/** Sum in the order given. */
export function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

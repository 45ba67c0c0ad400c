/**
 * Student's t distribution for whole degrees of freedom, by `+ - * /` and `sqrt` alone, so that
 * every machine gets the same bits.
 *
 * @module
 */

import { incompleteBeta } from "./incomplete_beta.ts";

/**
 * Upper tail P(T > t) of Student's t with `df` degrees of freedom.
 *
 * ½·I_x(ν/2, ½) with x = ν/(ν + t²) for t ≥ 0 (Abramowitz & Stegun 26.7.1).
 *
 * @throws {RangeError} If `df` is not a whole number from 1 up, or `t` is not a number.
 */
export function studentTTail(t: number, df: number): number {
  if (Number.isNaN(t)) throw new RangeError("studentTTail: t must be a number, got NaN");
  if (t < 0) return 1 - studentTTail(-t, df);
  if (t === 0) return 0.5;
  if (t === Infinity) return 0;
  // x and its complement, each computed without cancellation; t² may overflow, 1/t² may not.
  const ratio = t / df * t;
  const x = ratio === Infinity ? 0 : 1 / (1 + ratio);
  const complement = ratio === Infinity ? 1 : ratio / (1 + ratio);
  return 0.5 * incompleteBeta(x, complement, { p: df, q: 1 });
}

/** Two-sided p-value P(|T| ≥ |t|) of Student's t; see {@link studentTTail}. */
export function studentTTwoSided(t: number, df: number): number {
  return Math.min(1, 2 * studentTTail(Math.abs(t), df));
}

/**
 * Quantile of Student's t: the t with P(T ≤ t) = `probability`.
 *
 * Bisection of {@link studentTTail} down to neighbouring floats.
 *
 * @throws {RangeError} If `probability` is not strictly between 0 and 1, or `df` is not whole.
 */
export function studentTQuantile(probability: number, df: number): number {
  if (!(probability > 0 && probability < 1)) {
    throw new RangeError(
      `studentTQuantile: probability must lie strictly between 0 and 1, got ${probability}`,
    );
  }
  if (probability === 0.5) return 0;
  if (probability < 0.5) return -upperQuantile(probability, df);
  return upperQuantile(1 - probability, df);
}

function upperQuantile(tail: number, df: number): number {
  let low = 0;
  let high = 1;
  while (studentTTail(high, df) > tail) {
    low = high;
    high *= 2;
  }
  while (true) {
    const middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return high;
    if (studentTTail(middle, df) > tail) low = middle;
    else high = middle;
  }
}

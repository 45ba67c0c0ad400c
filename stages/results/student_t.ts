/**
 * Student's t distribution for whole degrees of freedom, by `+ - * /` and `sqrt` alone, so that
 * every machine gets the same bits.
 *
 * @module
 */

/** Terms after which the continued fraction has converged for every argument used here. */
const MAX_TERMS = 10_000;
const TINY = 1e-300;

/**
 * Upper tail P(T > t) of Student's t with `df` degrees of freedom.
 *
 * ½·I_x(ν/2, ½) with x = ν/(ν + t²) for t ≥ 0 (Abramowitz & Stegun 26.7.1 and 26.5.2). The power
 * x^(ν/2) is √x to a whole power and the beta function a finite product, hence no `exp` or `log`.
 *
 * @throws {RangeError} If `df` is not a whole number from 1 up, or `t` is not a number.
 */
export function studentTTail(t: number, df: number): number {
  requireWholeDf(df, "studentTTail");
  if (Number.isNaN(t)) throw new RangeError("studentTTail: t must be a number, got NaN");
  if (t < 0) return 1 - studentTTail(-t, df);
  if (t === 0) return 0.5;
  if (t === Infinity) return 0;
  const a = df / 2;
  // x and its complement, each computed without cancellation; t² may overflow, 1/t² may not.
  const ratio = t / df * t;
  const x = ratio === Infinity ? 0 : 1 / (1 + ratio);
  const y = ratio === Infinity ? 1 : ratio / (1 + ratio);
  // x^a · y^½ / B(a, ½)
  const front = wholePower(Math.sqrt(x), df) * Math.sqrt(y) / betaWithHalf(df);
  const swap = x > (a + 1) / (a + 2.5);
  return swap
    ? 0.5 * (1 - front * betaFraction(y, 0.5, a) / 0.5)
    : 0.5 * (front * betaFraction(x, a, 0.5) / a);
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
  requireWholeDf(df, "studentTQuantile");
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

/** B(df/2, ½) by B(a+1, ½) = B(a, ½)·a/(a+½), from B(½, ½) = π and B(1, ½) = 2. */
function betaWithHalf(df: number): number {
  let value = df % 2 === 1 ? Math.PI : 2;
  for (let a = df % 2 === 1 ? 0.5 : 1; a < df / 2; a++) value *= a / (a + 0.5);
  return value;
}

function wholePower(base: number, exponent: number): number {
  let result = 1;
  let factor = base;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result *= factor;
    factor *= factor;
  }
  return result;
}

/** The continued fraction of the incomplete beta function (A&S 26.5.8), by Lentz's method. */
function betaFraction(x: number, a: number, b: number): number {
  let c = 1;
  let d = away(1 - (a + b) * x / (a + 1));
  d = 1 / d;
  let value = d;
  for (let m = 1; m <= MAX_TERMS; m++) {
    const even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    value *= d * c;
    const odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    const step = d * c;
    value *= step;
    if (Math.abs(step - 1) < 1e-16) return value;
  }
  return value;
}

function away(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}

function requireWholeDf(df: number, name: string): void {
  if (!Number.isInteger(df) || df < 1) {
    throw new RangeError(`${name}: df must be a whole number from 1 up, got ${df}`);
  }
}

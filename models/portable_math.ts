/**
 * Elementary functions from correctly rounded operations alone (+ − × ÷ and bit patterns), so that
 * their results have the same bits on every machine. `Math.exp`, `Math.log`, `Math.sin` and their
 * like promise no such thing.
 *
 * Errors below are the largest found against 60-digit arithmetic by tests/reference.
 *
 * @module
 */

/** log₂ e. */
export const LOG2_E = 1.4426950408889634;
/** 1/√(2π). */
export const INVERSE_ROOT_TWO_PI = 0.3989422804014327;
/** ln 2 in two parts: the low 32 bits of this one are zero, so that an integer times it is exact. */
export const LN2_HIGH = 0.693147180369123816490;
export const LN2_LOW = 1.90821492927058770002e-10;
const HALF_PI_HIGH = 1.57079632673412561417; // the first 33 bits of π/2
const HALF_PI_MIDDLE = 6.07710050630396597660e-11; // the next 33
const HALF_PI_LOW = 2.02226624879595063154e-21;

const float64 = /* @__PURE__ */ new Float64Array(1);
const halves = /* @__PURE__ */ new Uint32Array(float64.buffer);

/** 2ᵏ for an integer k in −1022..1023. */
function powerOfTwo(k: number): number {
  halves[0] = 0;
  halves[1] = (k + 1023) << 20;
  return float64[0]!;
}

/** eˣ. Error below 1 ulp where the result is a normal number; smaller results become 0. */
export function exp(x: number): number {
  if (!(x < 709.78)) return x > 709.78 ? Infinity : x;
  if (x < -708.39) return 0;
  const k = Math.floor(x * LOG2_E + 0.5);
  const high = x - k * LN2_HIGH;
  const low = k * LN2_LOW;
  const r = high - low;
  // e^r − 1 − r by Taylor's series, |r| ≤ 0.3466; the first two terms are added last, exactly.
  const tail = r * r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 +
                    r * (1 / 5040 + r * (1 / 40320 + r * (1 / 362880 + r * (1 / 3628800 +
                                    r *
                                      (1 / 39916800 +
                                        r * (1 / 479001600 + r / 6227020800)))))))))));
  const value = 1 + (tail - low + high);
  return k > 1023 ? value * 2 * powerOfTwo(k - 1) : value * powerOfTwo(k);
}

/** Natural logarithm. Error below 1 ulp; −∞ at 0, NaN below. */
export function ln(x: number): number {
  if (!(x > 0)) return x === 0 ? -Infinity : NaN;
  if (x === Infinity) return x;
  let k = 0;
  if (x < 2.2250738585072014e-308) x *= 2 ** 54, k = -54;
  float64[0] = x;
  k += (halves[1]! >>> 20) - 1023;
  halves[1] = (halves[1]! & 0xfffff) | 0x3ff00000;
  let m = float64[0]!;
  if (m > 1.4142135623730951) m /= 2, k++;
  // ln m = 2 artanh(f / (2 + f)) = f − f²/2 + s (f²/2 + R), |s| ≤ 0.1716
  const f = m - 1;
  const s = f / (2 + f);
  const z = s * s;
  const series = z * (2 / 3 + z * (2 / 5 + z * (2 / 7 + z * (2 / 9 + z * (2 / 11 +
                    z * (2 / 13 + z * (2 / 15 + z * (2 / 17 + z * (2 / 19 + z * (2 / 21))))))))));
  const half = 0.5 * f * f;
  return k * LN2_HIGH - ((half - (s * (half + series) + k * LN2_LOW)) - f);
}

/** sin r for |r| ≤ π/4, r given as high + low. */
function sinKernel(r: number, low: number): number {
  const z = r * r;
  const rest = z * (1 / 120 + z * (-1 / 5040 + z * (1 / 362880 + z * (-1 / 39916800 +
                z * (1 / 6227020800 + z * (-1 / 1307674368000 + z / 355687428096000))))));
  return r + (z * r * (-1 / 6 + rest) + low * (1 - 0.5 * z));
}

/** cos r for |r| ≤ π/4, r given as high + low. */
function cosKernel(r: number, low: number): number {
  const z = r * r;
  const rest = z * z * (1 / 24 + z * (-1 / 720 + z * (1 / 40320 + z * (-1 / 3628800 +
                z * (1 / 479001600 + z * (-1 / 87178291200 + z / 20922789888000))))));
  const half = 0.5 * z;
  const top = 1 - half;
  return top + ((1 - top - half) + (rest - r * low));
}

function byQuadrant(quadrant: number, r: number, low: number): number {
  const value = (quadrant & 1) === 0 ? sinKernel(r, low) : cosKernel(r, low);
  return (quadrant & 2) === 0 ? value : -value;
}

function reduced(x: number, shift: number): number {
  if (!(Math.abs(x) <= 1e6)) {
    throw new RangeError(
      `Cannot take the sine or cosine of ${x}: the argument must lie in -1e6..1e6`,
    );
  }
  const k = Math.floor(x / 1.5707963267948966 + 0.5);
  const first = x - k * HALF_PI_HIGH;
  const second = k * HALF_PI_MIDDLE;
  const high = first - second;
  const low = ((first - high) - second) - k * HALF_PI_LOW;
  const r = high + low;
  return byQuadrant(k + shift, r, (high - r) + low);
}

/**
 * sin x, x in radians. Error below 1 ulp, but near multiples of π, where it stays below 1e-19.
 *
 * @throws {RangeError} If |x| > 10⁶, where the reduction by π/2 would lose digits.
 */
export function sin(x: number): number {
  return reduced(x, 0);
}

/** cos x, x in radians; see {@linkcode sin}. */
export function cos(x: number): number {
  return reduced(x, 1);
}

/** sin 2πt for t in 0..1. */
export function sinTurns(t: number): number {
  return turns(t, 0);
}

/** cos 2πt for t in 0..1. */
export function cosTurns(t: number): number {
  return turns(t, 1);
}

function turns(t: number, shift: number): number {
  const k = Math.floor(t * 4 + 0.5);
  return byQuadrant(k + shift, (t - k / 4) * 6.283185307179586, 0);
}

/** eˣ − 1, accurate near 0 too. Error below 4 ulp. */
export function expm1(x: number): number {
  const value = exp(x);
  if (value === 1) return x;
  if (value === 0 || value === Infinity) return value - 1;
  // Both differences from 1 have the same error, which their quotient loses (Kahan).
  return (value - 1) * x / ln(value);
}

/** ln(1 + x), accurate near 0 too; −∞ at −1, NaN below. Error below 4 ulp. */
export function log1p(x: number): number {
  const sum = 1 + x;
  if (sum === 1 || x === Infinity) return x;
  return ln(sum) * x / (sum - 1);
}

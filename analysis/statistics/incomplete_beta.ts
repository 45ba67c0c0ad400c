/**
 * The regularised incomplete beta function I_x(p/2, q/2) for whole p and q, by `+ - * /` and
 * `sqrt` alone, so that every machine gets the same bits.
 *
 * @module
 */

/** Terms after which the continued fraction has converged for every argument used here. */
const MAX_TERMS = 10_000;
const TINY = 1e-300;

/**
 * I_x(p/2, q/2), given x and its complement, each computed by the caller without cancellation.
 *
 * Abramowitz & Stegun 26.5.2 and 26.5.8. Powers of x are whole powers of √x and the beta function
 * is a finite product, hence neither `exp` nor `log`.
 *
 * @param options.p Twice the first parameter, a whole number from 1 up.
 * @param options.q Twice the second parameter, a whole number from 1 up.
 */
export function incompleteBeta(
  x: number,
  complement: number,
  options: { readonly p: number; readonly q: number },
): number {
  const { p, q } = options;
  requireWhole(p, "p");
  requireWhole(q, "q");
  if (x <= 0) return 0;
  if (complement <= 0) return 1;
  const a = p / 2;
  const b = q / 2;
  const front = wholePower(Math.sqrt(x), p) * wholePower(Math.sqrt(complement), q) /
    betaOfHalves(p, q);
  return x > (a + 1) / (a + b + 2)
    ? 1 - front * betaFraction(complement, b, a) / b
    : front * betaFraction(x, a, b) / a;
}

/** B(p/2, q/2), by B(a+1, b) = B(a, b)·a/(a+b), from B(½, ½) = π, B(1, ½) = 2 and B(1, 1) = 1. */
function betaOfHalves(p: number, q: number): number {
  const startP = p % 2 === 1 ? 1 : 2;
  const startQ = q % 2 === 1 ? 1 : 2;
  let value = startP === 1 && startQ === 1 ? Math.PI : startP === 2 && startQ === 2 ? 1 : 2;
  for (let a = startP; a < p; a += 2) value *= a / (a + startQ);
  for (let b = startQ; b < q; b += 2) value *= b / (b + p);
  return value;
}

function requireWhole(value: number, name: string): void {
  if (Number.isInteger(value) && value >= 1) return;
  throw new RangeError(`incompleteBeta: ${name} must be a whole number from 1 up, got ${value}`);
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
  let d = 1 / away(1 - (a + b) * x / (a + 1));
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

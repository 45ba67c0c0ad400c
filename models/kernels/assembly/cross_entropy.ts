/** Probabilities of classes, in doubles; as scalar.ts has them. */

/** A vector of two equal doubles, kept in a global like those of `constant` in arithmetic.ts. */
function constant(x: f64): v128 {
  return f64x2.splat(x);
}

const LOWEST = constant(-87), LOG2_E = constant(1.4426950408889634), HALF = constant(0.5);
const LN2_HIGH = constant(0.693147180369123816490), LN2_LOW = constant(1.90821492927058770002e-10);
const ONE = constant(1), INVERSE_6 = constant(1.0 / 6.0), INVERSE_24 = constant(1.0 / 24.0);
const INVERSE_120 = constant(1.0 / 120.0), INVERSE_720 = constant(1.0 / 720.0);
const INVERSE_5040 = constant(1.0 / 5040.0);

/** eˣ of two doubles ≤ 0; 0 below −87. */
function exp(x: v128): v128 {
  const k = f64x2.floor(f64x2.add(f64x2.mul(x, LOG2_E), HALF));
  const r = f64x2.sub(f64x2.sub(x, f64x2.mul(k, LN2_HIGH)), f64x2.mul(k, LN2_LOW));
  let series = f64x2.add(INVERSE_720, f64x2.mul(r, INVERSE_5040));
  series = f64x2.add(INVERSE_120, f64x2.mul(r, series));
  series = f64x2.add(INVERSE_24, f64x2.mul(r, series));
  series = f64x2.add(INVERSE_6, f64x2.mul(r, series));
  series = f64x2.add(HALF, f64x2.mul(r, series));
  series = f64x2.add(ONE, f64x2.mul(r, series));
  series = f64x2.add(ONE, f64x2.mul(r, series));
  const exponent = i32x4.add(i32x4.trunc_sat_f64x2_s_zero(k), i32x4.splat(127));
  const power = f64x2.promote_low_f32x4(i32x4.shl(exponent, 23));
  return v128.andnot(f64x2.mul(series, power), f64x2.le(x, LOWEST));
}

/**
 * p = softmax(z) by rows of k numbers; `tops` and `totals`, n doubles each, become each row's largest
 * number and Σ e^{z − largest}. `powers` has room for k + 1 doubles.
 */
export function probabilities(
  z: usize,
  p: usize,
  n: i32,
  k: i32,
  tops: usize,
  totals: usize,
  powers: usize,
): void {
  const bytes = 4 * k;
  for (let row = 0; row < n; row++, z += bytes, p += bytes, tops += 8, totals += 8) {
    let top: f32 = -Infinity;
    for (let at = z; at < z + bytes; at += 4) top = max(top, f32.load(at));
    const shift = f64x2.splat(<f64> top);
    let total: f64 = 0;
    for (let j = 0; j < k; j += 2) {
      const one = j + 1 == k, at = z + 4 * j;
      const numbers = one ? v128.load32_zero(at) : v128.load64_zero(at);
      const power = exp(f64x2.sub(f64x2.promote_low_f32x4(numbers), shift));
      v128.store(powers + 8 * j, power);
      total += f64x2.extract_lane(power, 0);
      if (!one) total += f64x2.extract_lane(power, 1);
    }
    for (let j = 0; j < k; j++) {
      f32.store(p + 4 * j, <f32> (f64.load(powers + 8 * j) / total));
    }
    f64.store(tops, <f64> top);
    f64.store(totals, total);
  }
}

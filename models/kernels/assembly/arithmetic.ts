/**
 * Arithmetic that the loops share. With `FUSED`, a product is added without being rounded first.
 *
 * The files of this folder are AssemblyScript, compiled by `deno task kernels`: `f32x4.add` and its
 * like are one instruction each, `usize` is an address in bytes.
 */

/** a b + c. */
export function madd(a: v128, b: v128, c: v128): v128 {
  if (isDefined(FUSED)) return f32x4.relaxed_madd(a, b, c);
  return f32x4.add(f32x4.mul(a, b), c);
}

/** c − a b. */
export function nmadd(a: v128, b: v128, c: v128): v128 {
  if (isDefined(FUSED)) return f32x4.relaxed_nmadd(a, b, c);
  return f32x4.sub(c, f32x4.mul(a, b));
}

/** Whether `madd` rounds once: (1 + 2⁻¹²)² is 1 + 2⁻¹¹ + 2⁻²⁴, of which a float32 keeps 1 + 2⁻¹¹. */
export function fuses(): bool {
  const x = f32x4.splat(1.000244140625);
  return f32x4.extract_lane(madd(x, x, f32x4.splat(-1.00048828125)), 0) != 0;
}

/** The sum of four lanes. */
export function sumOf(x: v128): f32 {
  return (f32x4.extract_lane(x, 0) + f32x4.extract_lane(x, 1)) +
    (f32x4.extract_lane(x, 2) + f32x4.extract_lane(x, 3));
}

/**
 * The largest of four lanes, in each. `pmax` is one instruction of the processor, `max` many: they differ
 * in zeros' signs and where there is no number.
 */
export function largestOf(x: v128): v128 {
  x = f32x4.pmax(x, v128.shuffle<f32>(x, x, 2, 3, 0, 1));
  return f32x4.pmax(x, v128.shuffle<f32>(x, x, 1, 0, 3, 2));
}

/**
 * A vector of four times `x`, set when the module starts: a global is read by one instruction, while
 * a constant in the code is put together by several wherever it is used.
 */
export function constant(x: f32): v128 {
  return f32x4.splat(x);
}

export const ZERO = constant(0), ONE = constant(1);
const HALF = constant(0.5);
const LOWEST = constant(-87), LOG2_E = constant(1.4426950408889634);
/** 1.5 × 2²³: added to a small number, it leaves the nearest integer in the last bits. */
const ROUNDER = constant(12582912);
/** ln 2 in two parts; the first has few enough bits for an exact product. */
const LN2_HIGH = constant(0.693359375), LN2_LOW = constant(-2.12194440e-4);
const INVERSE_6 = constant(1.0 / 6.0), INVERSE_24 = constant(1.0 / 24.0);
const INVERSE_120 = constant(1.0 / 120.0), INVERSE_720 = constant(1.0 / 720.0);
const INVERSE_5040 = constant(1.0 / 5040.0);

/** eˣ for x ≤ 0; below −87, e⁻⁸⁷. */
export function exp(x: v128): v128 {
  x = f32x4.pmax(x, LOWEST);
  const shifted = madd(x, LOG2_E, ROUNDER);
  const k = f32x4.sub(shifted, ROUNDER);
  x = nmadd(k, LN2_HIGH, x);
  x = nmadd(k, LN2_LOW, x);
  let series = madd(INVERSE_5040, x, INVERSE_720);
  series = madd(series, x, INVERSE_120);
  series = madd(series, x, INVERSE_24);
  series = madd(series, x, INVERSE_6);
  series = madd(series, x, HALF);
  series = madd(series, x, ONE);
  series = madd(series, x, ONE);
  // The exponent's bits: those of k, which the rounder left last, plus those of 1.
  return f32x4.mul(series, i32x4.add(i32x4.shl(shifted, 23), ONE));
}

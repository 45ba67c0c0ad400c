/** GELU in its exact form, x Φ(x), and products of elements; `count` elements each. */
import { constant, exp, madd, nmadd, ONE, ZERO } from "./arithmetic";

const MINUS_HALF = constant(-0.5), QUARTER = constant(0.25), SIX = constant(6);
const INVERSE_ROOT_TWO_PI = constant(0.3989422804014327);

/** Coefficients of Φ(−z) e^{z²/2} / t in t = 1/(1 + z/4), as in scalar.ts. */
const TAIL_8 = constant(0.03798004579664045), TAIL_7 = constant(-0.21706994846575643);
const TAIL_6 = constant(0.4409528521973844), TAIL_5 = constant(-0.38895707478569433);
const TAIL_4 = constant(0.34389571679887533), TAIL_3 = constant(-0.036357376380823886);
const TAIL_2 = constant(0.1244688145556421), TAIL_1 = constant(0.09503836410418038);
const TAIL_0 = constant(0.10004860645703722);

/** e^{−z²/2}. */
function gauss(z: v128): v128 {
  return exp(f32x4.mul(f32x4.mul(z, z), MINUS_HALF));
}

/** Φ(−z) for z ≥ 0, given e^{−z²/2}. */
function upperTail(z: v128, gauss: v128): v128 {
  const t = f32x4.div(ONE, madd(f32x4.pmin(z, SIX), QUARTER, ONE));
  let sum = madd(TAIL_8, t, TAIL_7);
  sum = madd(sum, t, TAIL_6);
  sum = madd(sum, t, TAIL_5);
  sum = madd(sum, t, TAIL_4);
  sum = madd(sum, t, TAIL_3);
  sum = madd(sum, t, TAIL_2);
  sum = madd(sum, t, TAIL_1);
  sum = madd(sum, t, TAIL_0);
  return f32x4.mul(f32x4.mul(sum, t), gauss);
}

/** max(x, 0) − |x| Φ(−|x|). */
function geluOf(x: v128): v128 {
  const z = f32x4.abs(x);
  return nmadd(upperTail(z, gauss(z)), z, f32x4.pmax(ZERO, x));
}

/** Φ(x) + x e^{−x²/2}/√(2π). */
function slopeOf(x: v128): v128 {
  const z = f32x4.abs(x), power = gauss(z), tail = upperTail(z, power);
  const below = f32x4.lt(x, ZERO);
  const share = v128.bitselect(tail, f32x4.sub(ONE, tail), below);
  return madd(f32x4.mul(x, power), INVERSE_ROOT_TWO_PI, share);
}

/** y = gelu(x). */
export function gelu(x: usize, y: usize, count: i32): void {
  const end = x + 4 * count;
  for (; x + 16 <= end; x += 16, y += 16) v128.store(y, geluOf(v128.load(x)));
  for (; x < end; x += 4, y += 4) v128.store_lane<f32>(y, geluOf(v128.load32_splat(x)), 0);
}

/** dx = dy gelu′(x). */
export function geluGradient(x: usize, dy: usize, dx: usize, count: i32): void {
  const end = x + 4 * count;
  for (; x + 16 <= end; x += 16, dy += 16, dx += 16) {
    v128.store(dx, f32x4.mul(slopeOf(v128.load(x)), v128.load(dy)));
  }
  for (; x < end; x += 4, dy += 4, dx += 4) {
    const slope = f32x4.extract_lane(slopeOf(v128.load32_splat(x)), 0);
    f32.store(dx, slope * f32.load(dy));
  }
}

/** y = a ⊙ b. */
export function multiply(a: usize, b: usize, y: usize, count: i32): void {
  const end = a + 4 * count;
  for (; a + 16 <= end; a += 16, b += 16, y += 16) {
    v128.store(y, f32x4.mul(v128.load(a), v128.load(b)));
  }
  for (; a < end; a += 4, b += 4, y += 4) f32.store(y, f32.load(a) * f32.load(b));
}

/**
 * Softmax by rows. Rows lie `stride` bytes apart, a multiple of 16; row i has `columns` + i × `growth`
 * columns, and what follows them in the row becomes 0.
 */
import { exp, largestOf, sumOf } from "./arithmetic";

/** All ones in the lanes before `columns`, counted from `column`, the first lane's. */
export function inside(columns: i32, column: i32): v128 {
  return i32x4.gt_s(i32x4.splat(columns - column), i32x4(0, 1, 2, 3));
}

const LOWEST: f32 = -3e38;

/** x = softmax(scale x). */
export function softmax(
  x: usize,
  rows: i32,
  columns: i32,
  growth: i32,
  stride: i32,
  scale: f32,
): void {
  const factor = f32x4.splat(scale);
  for (let row = 0; row < rows; row++) {
    const whole = columns & -4, rest = inside(columns, whole);
    const end = x + 4 * whole, partial = whole < columns;
    let best = f32x4.splat(LOWEST), at = x;
    for (; at < end; at += 16) best = f32x4.pmax(v128.load(at), best);
    if (partial) {
      best = f32x4.pmax(v128.bitselect(v128.load(at), f32x4.splat(LOWEST), rest), best);
    }
    best = largestOf(best);
    let sum = f32x4.splat(0);
    for (at = x; at < end; at += 16) {
      const power = exp(f32x4.mul(f32x4.sub(v128.load(at), best), factor));
      v128.store(at, power);
      sum = f32x4.add(sum, power);
    }
    if (partial) {
      // What the row does not fill may be anything; the mask alone removes it.
      const power = exp(f32x4.mul(f32x4.sub(v128.load(at), best), factor));
      v128.store(at, v128.and(power, rest));
      sum = f32x4.add(sum, v128.and(power, rest));
      at += 16;
    }
    const inverse = f32x4.splat(1 / sumOf(sum));
    for (let to = x; to < at; to += 16) v128.store(to, f32x4.mul(v128.load(to), inverse));
    for (const next = x + stride; at < next; at += 16) v128.store(at, f32x4.splat(0));
    x += stride, columns += growth;
  }
}

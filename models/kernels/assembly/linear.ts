/** A linear layer's bias: one row for all rows of a result, and the sum of all rows of a gradient. */

/** Each of n rows of y becomes the row b of `c` numbers. */
export function fillRows(b: usize, y: usize, n: i32, c: i32): void {
  for (let row = 0; row < n; row++, y += 4 * c) memory.copy(y, b, 4 * c);
}

/** b = the sum of n rows of y, each added in turn. */
export function sumOfRows(y: usize, b: usize, n: i32, c: i32): void {
  memory.fill(b, 0, 4 * c);
  const whole = 4 * (c & -4), bytes = 4 * c;
  for (let row = 0; row < n; row++, y += bytes) {
    for (let at = 0; at < whole; at += 16) {
      v128.store(b + at, f32x4.add(v128.load(b + at), v128.load(y + at)));
    }
    for (let at = whole; at < bytes; at += 4) {
      f32.store(b + at, f32.load(b + at) + f32.load(y + at));
    }
  }
}

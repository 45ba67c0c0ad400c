/**
 * Numbers for every two tokens i and j, and the same by their distance j − i, clipped to −K..K:
 * `distances` is 2K + 1. Rows of the former lie `stride` apart.
 */

/** to[i, j] += near[i, clip(j − i) + K]. */
export function addByDistance(
  near: usize,
  to: usize,
  t: i32,
  stride: i32,
  distances: i32,
): void {
  const k = distances >> 1;
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      const at = to + 4 * j, from = near + 4 * (max(-k, min(k, j - i)) + k);
      f32.store(at, f32.load(at) + f32.load(from));
    }
    to += 4 * stride, near += 4 * distances;
  }
}

/** near[i, r] = Σ from[i, j] over the j with clip(j − i) + K = r. */
export function sumByDistance(
  from: usize,
  near: usize,
  t: i32,
  stride: i32,
  distances: i32,
): void {
  const k = distances >> 1;
  memory.fill(near, 0, 4 * t * distances);
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      const at = near + 4 * (max(-k, min(k, j - i)) + k);
      f32.store(at, f32.load(at) + f32.load(from + 4 * j));
    }
    from += 4 * stride, near += 4 * distances;
  }
}

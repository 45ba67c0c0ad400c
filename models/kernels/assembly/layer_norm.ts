/**
 * Layer normalisation by rows of `c` numbers. Sums are of doubles, in order; so that they need not wait
 * for each other, two rows are summed side by side, one in each lane.
 */

/** The numbers at two addresses, as doubles. */
function pair(a: usize, b: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load_lane<f32>(b, v128.load32_zero(a), 1));
}

/** Two numbers side by side, as doubles. */
function two(at: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(at));
}

/** Two doubles as numbers side by side. */
function storeTwo(at: usize, x: v128): void {
  v128.store64_lane(at, f32x4.demote_f64x2_zero(x), 0);
}

/** As scalar.ts has it. */
export function layerNorm(
  x: usize,
  gain: usize,
  bias: usize,
  y: usize,
  normed: usize,
  inverse: usize,
  n: i32,
  c: i32,
  epsilon: f64,
): void {
  const bytes = 4 * c, count = f64x2.splat(<f64> c);
  for (let row = 0; row < n; row += 2) {
    // The last of an odd number of rows is in both lanes.
    const second = row + 1 < n ? bytes : 0;
    let mean = f64x2.splat(0), variance = mean;
    for (let at = x; at < x + bytes; at += 4) mean = f64x2.add(mean, pair(at, at + second));
    mean = f64x2.div(mean, count);
    for (let at = x; at < x + bytes; at += 4) {
      const centred = f64x2.sub(pair(at, at + second), mean);
      variance = f64x2.add(variance, f64x2.mul(centred, centred));
    }
    const root = f64x2.sqrt(f64x2.add(f64x2.div(variance, count), f64x2.splat(epsilon)));
    const scale = f64x2.div(f64x2.splat(1), root);
    normalise(x, gain, bias, y, normed, inverse, c, lane(mean, 0), lane(scale, 0));
    if (second != 0) {
      x += bytes, y += bytes, normed += bytes, inverse += 4;
      normalise(x, gain, bias, y, normed, inverse, c, lane(mean, 1), lane(scale, 1));
    }
    x += bytes, y += bytes, normed += bytes, inverse += 4;
  }
}

/** A lane twice. */
function lane(x: v128, index: i32): v128 {
  return f64x2.splat(index == 0 ? f64x2.extract_lane(x, 0) : f64x2.extract_lane(x, 1));
}

function normalise(
  x: usize,
  gain: usize,
  bias: usize,
  y: usize,
  normed: usize,
  inverse: usize,
  c: i32,
  mean: v128,
  scale: v128,
): void {
  f32.store(inverse, <f32> f64x2.extract_lane(scale, 0));
  let at = 0;
  for (; at + 8 <= 4 * c; at += 8) {
    const value = f64x2.mul(f64x2.sub(two(x + at), mean), scale);
    storeTwo(normed + at, value);
    const shift = bias == 0 ? f64x2.splat(0) : two(bias + at);
    storeTwo(y + at, f64x2.add(f64x2.mul(value, two(gain + at)), shift));
  }
  if (at == 4 * c) return;
  const centred = <f64> f32.load(x + at) - f64x2.extract_lane(mean, 0);
  const value = centred * f64x2.extract_lane(scale, 0);
  f32.store(normed + at, <f32> value);
  const shift: f64 = bias == 0 ? 0 : <f64> f32.load(bias + at);
  f32.store(y + at, <f32> (value * <f64> f32.load(gain + at) + shift));
}

/** As scalar.ts has it; `sums` has room for 2 c doubles. */
export function layerNormGradient(
  normed: usize,
  inverse: usize,
  gain: usize,
  dy: usize,
  dx: usize,
  dGain: usize,
  dBias: usize,
  n: i32,
  c: i32,
  sums: usize,
): void {
  const bytes = 4 * c, count = f64x2.splat(<f64> c);
  memory.fill(sums, 0, 16 * c);
  for (let row = 0; row < n; row += 2) {
    const second = row + 1 < n ? bytes : 0;
    let mean = f64x2.splat(0), along = mean;
    for (let at = 0; at < bytes; at += 4) {
      const weight = f64x2.splat(<f64> f32.load(gain + at));
      const scaled = f64x2.mul(pair(dy + at, dy + at + second), weight);
      mean = f64x2.add(mean, scaled);
      along = f64x2.add(
        along,
        f64x2.mul(scaled, pair(normed + at, normed + at + second)),
      );
    }
    mean = f64x2.div(mean, count), along = f64x2.div(along, count);
    gradientRow(normed, inverse, gain, dy, dx, c, lane(mean, 0), lane(along, 0), sums);
    if (second != 0) {
      normed += bytes, inverse += 4, dy += bytes, dx += bytes;
      gradientRow(normed, inverse, gain, dy, dx, c, lane(mean, 1), lane(along, 1), sums);
    }
    normed += bytes, inverse += 4, dy += bytes, dx += bytes;
  }
  for (let j = 0; j < c; j++) {
    f32.store(dGain + 4 * j, <f32> f64.load(sums + 8 * j));
    f32.store(dBias + 4 * j, <f32> f64.load(sums + 8 * (c + j)));
  }
}

/** A row's gradient, and what it adds to those of gain and bias. */
function gradientRow(
  normed: usize,
  inverse: usize,
  gain: usize,
  dy: usize,
  dx: usize,
  c: i32,
  mean: v128,
  along: v128,
  gains: usize,
): void {
  const scale = f64x2.splat(<f64> f32.load(inverse));
  let at = 0, biases = gains + 8 * c;
  for (; at + 8 <= 4 * c; at += 8) {
    const d = two(dy + at), value = two(normed + at);
    const centred = f64x2.sub(f64x2.mul(d, two(gain + at)), mean);
    storeTwo(dx + at, f64x2.mul(f64x2.sub(centred, f64x2.mul(value, along)), scale));
    v128.store(gains, f64x2.add(v128.load(gains), f64x2.mul(d, value)));
    v128.store(biases, f64x2.add(v128.load(biases), d));
    gains += 16, biases += 16;
  }
  if (at == 4 * c) return;
  const d = <f64> f32.load(dy + at), value = <f64> f32.load(normed + at);
  const centred = d * <f64> f32.load(gain + at) - f64x2.extract_lane(mean, 0);
  const rest = centred - value * f64x2.extract_lane(along, 0);
  f32.store(dx + at, <f32> (rest * f64x2.extract_lane(scale, 0)));
  f64.store(gains, f64.load(gains) + d * value);
  f64.store(biases, f64.load(biases) + d);
}

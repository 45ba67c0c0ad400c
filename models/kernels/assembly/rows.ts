/**
 * Loops over rows of an embedding table: sums of rows, AdaGrad where a batch has a gradient, and the
 * weight decay of the steps in which a row had none. A row's bytes are a multiple of 16.
 */

function add(to: usize, row: usize, bytes: i32): void {
  for (let at = 0; at < bytes; at += 16) {
    v128.store(to + at, f32x4.add(v128.load(to + at), v128.load(row + at)));
  }
}

/** Adds four rows, so that the sum is read and written once for all of them. */
function addFour(to: usize, a: usize, b: usize, c: usize, d: usize, bytes: i32): void {
  for (let at = 0; at < bytes; at += 16) {
    let sum = f32x4.add(v128.load(to + at), v128.load(a + at));
    sum = f32x4.add(sum, v128.load(b + at));
    sum = f32x4.add(sum, v128.load(c + at));
    v128.store(to + at, f32x4.add(sum, v128.load(d + at)));
  }
}

function rowOf(table: usize, id: usize, bytes: i32): usize {
  return table + i32.load(id) * bytes;
}

/** to = factor × Σ table[ids[i]], in order. */
export function sumRows(
  to: usize,
  table: usize,
  ids: usize,
  count: i32,
  bytes: i32,
  factor: f32,
): void {
  memory.fill(to, 0, bytes);
  const end = ids + 4 * count;
  for (; ids + 16 <= end; ids += 16) {
    const a = rowOf(table, ids, bytes), b = rowOf(table, ids + 4, bytes);
    const c = rowOf(table, ids + 8, bytes), d = rowOf(table, ids + 12, bytes);
    addFour(to, a, b, c, d, bytes);
  }
  for (; ids < end; ids += 4) add(to, rowOf(table, ids, bytes), bytes);
  const scale = f32x4.splat(factor);
  for (let at = 0; at < bytes; at += 16) {
    v128.store(to + at, f32x4.mul(v128.load(to + at), scale));
  }
}

/** With gradient g: g ← g + decay θ; h ← h + g²; θ ← θ − rate g / (√h + ε), a vector of each. */
function adagrad(theta: usize, sums: usize, g: v128, decay: v128, rate: v128, epsilon: v128): void {
  const weights = v128.load(theta);
  g = f32x4.add(g, f32x4.mul(decay, weights));
  const h = f32x4.add(v128.load(sums), f32x4.mul(g, g));
  v128.store(sums, h);
  const root = f32x4.add(f32x4.sqrt(h), epsilon);
  v128.store(theta, f32x4.sub(weights, f32x4.div(f32x4.mul(rate, g), root)));
}

/**
 * AdaGrad of a row whose gradient is Σ coefficient × delta over `count` pairs (int32 byte offset of a
 * delta, float32 coefficient).
 */
export function stepRow(
  theta: usize,
  sums: usize,
  deltas: usize,
  pairs: usize,
  count: i32,
  bytes: i32,
  decay: f32,
  rate: f32,
  epsilon: f32,
): void {
  const decays = f32x4.splat(decay), rates = f32x4.splat(rate), epsilons = f32x4.splat(epsilon);
  const last = pairs + 8 * count;
  for (let at = 0; at < bytes; at += 16) {
    let g = f32x4.splat(0);
    for (let pair = pairs; pair < last; pair += 8) {
      const delta = v128.load(deltas + i32.load(pair) + at);
      g = f32x4.add(g, f32x4.mul(delta, v128.load32_splat(pair, 4)));
    }
    adagrad(theta + at, sums + at, g, decays, rates, epsilons);
  }
}

/** AdaGrad of a dense parameter. */
export function stepAll(
  theta: usize,
  sums: usize,
  gradient: usize,
  bytes: i32,
  decay: f32,
  rate: f32,
  epsilon: f32,
): void {
  const decays = f32x4.splat(decay), rates = f32x4.splat(rate), epsilons = f32x4.splat(epsilon);
  for (let at = 0; at < bytes; at += 16) {
    adagrad(theta + at, sums + at, v128.load(gradient + at), decays, rates, epsilons);
  }
}

/**
 * What n steps without a gradient do to a row, at once, where x is the rate times the sum of their
 * decays, `squares` the sum of the decays' squares, and m the share of q that a step finds there on
 * average: q = squares θ²; θ ← θ e^{−x / (√(h + m q) + ε)}; h ← h + q.
 *
 * e^{−u} by (12 − 6u + u²)/(12 + 6u + u²): relative error below u⁵/720.
 */
export function decayRow(
  theta: usize,
  sums: usize,
  bytes: i32,
  x: f32,
  squares: f32,
  epsilon: f32,
  m: f32,
): void {
  const xs = f32x4.splat(x), allSquares = f32x4.splat(squares);
  const epsilons = f32x4.splat(epsilon), mean = f32x4.splat(m);
  for (let at = 0; at < bytes; at += 16) {
    const t = v128.load(theta + at), h = v128.load(sums + at);
    const q = f32x4.mul(f32x4.mul(t, t), allSquares);
    const root = f32x4.add(f32x4.sqrt(f32x4.add(h, f32x4.mul(q, mean))), epsilons);
    const u = f32x4.div(xs, root);
    v128.store(sums + at, f32x4.add(h, q));
    const even = f32x4.add(f32x4.splat(12), f32x4.mul(u, u));
    const odd = f32x4.mul(u, f32x4.splat(6));
    v128.store(
      theta + at,
      f32x4.div(f32x4.mul(t, f32x4.sub(even, odd)), f32x4.add(even, odd)),
    );
  }
}

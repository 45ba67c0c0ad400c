/**
 * Attention within documents, head by head: weights P = softmax(QKᵀ/√d), y = (P ⊙ factors) V; see
 * operations/attention.ts. Rows of a head's t × t numbers lie `stride` apart, the next multiple of four.
 *
 * A weight that dropout keeps bears a minus sign, which no weight has otherwise: so the gradient need
 * not draw again.
 */
import { madd, sumOf, ZERO } from "./arithmetic";
import { draw, DRAWN, factorAt } from "./dropout";
import { addByDistance, sumByDistance } from "./distances";
import { product } from "./product";
import { inside, softmax } from "./softmax";

// Of the call under way: set by `describe`, which comes before every other function here.
let heads: i32;
/** Bytes of a token's features, and of one head's. */
let width: i32, headWidth: i32;
let causal: bool, scale: f32;
/** Relative embeddings, if `distances` is not 0. */
let distances: i32, keys: usize, values: usize;
/** Dropout, if `kept`, what is kept being multiplied with it, is not 0. */
let kept: f32, limit: i32, k0: i32, k1: i32, k2: i32, k3: i32, stream: i32;
/** Work space: a product's, 256 bytes, a head's weights, those that are left of them, scores by distance. */
let packing: usize, spare: usize, scratch: usize, used: usize, near: usize;

/** What the next calls are about; see wasm.ts. */
export function describe(
  headCount: i32,
  columns: i32,
  isCausal: bool,
  factor: f32,
  distanceCount: i32,
  keyTable: usize,
  valueTable: usize,
): void {
  heads = headCount, width = 4 * columns, headWidth = width / heads;
  causal = isCausal, scale = factor;
  distances = distanceCount, keys = keyTable, values = valueTable;
}

/** Dropout of what `describe` described; `first` is the stream of the first head. */
export function describeDropout(
  factor: f32,
  below: i32,
  key0: i32,
  key1: i32,
  key2: i32,
  key3: i32,
  first: i32,
): void {
  kept = factor, limit = below;
  k0 = key0, k1 = key1, k2 = key2, k3 = key3, stream = first;
}

/** Where to work. */
export function describeWork(
  productWork: usize,
  group: usize,
  weights: usize,
  left: usize,
  byDistance: usize,
): void {
  packing = productWork, spare = group, scratch = weights, used = left, near = byDistance;
}

/** The number of features of a head. */
function features(): i32 {
  return headWidth >> 2;
}

function strideOf(t: i32): i32 {
  return (t + 3) & -4;
}

/**
 * y of a document's t tokens from x, their queries, keys and values; `weights` become those of all its
 * heads, if there are any. `first` counts the heads of the documents before.
 */
export function attention(x: usize, y: usize, weights: usize, t: i32, first: i32): void {
  const row = 3 * width, d = features(), stride = strideOf(t);
  for (let h = 0; h < heads; h++, x += headWidth, y += headWidth) {
    const p = weights == 0 ? scratch : weights, left = kept == 0 ? p : used;
    weigh(x, t, p, first + h);
    product(t, d, t, left, 4 * stride, 4, x + 2 * width, row, 4, y, width, false, packing);
    if (distances > 0) {
      sumByDistance(left, near, t, stride, distances);
      byTable(near, values, t, y, width);
    }
    if (weights != 0) weights += 4 * t * stride;
  }
}

/** One head's weights, with the signs of those that dropout keeps, and in `used` what is left of them. */
function weigh(q: usize, t: i32, p: usize, head: i32): void {
  const stride = strideOf(t);
  scores(q, 3 * width, q + width, 3 * width, t, keys, p, near);
  softmax(p, t, causal ? 1 : t, causal ? 1 : 0, 4 * stride, scale);
  if (kept != 0) drop(p, t * stride, stream + head);
}

/** to = A Bᵀ + the products of A's rows with a table's, by distance. */
function scores(
  a: usize,
  aRow: i32,
  b: usize,
  bRow: i32,
  t: i32,
  table: usize,
  to: usize,
  byDistance: usize,
): void {
  const stride = strideOf(t), d = features();
  product(t, t, d, a, aRow, 4, b, 4, bRow, to, 4 * stride, false, packing);
  if (distances == 0) return;
  const row = 4 * distances;
  product(t, distances, d, a, aRow, 4, table, 4, headWidth, byDistance, row, false, packing);
  addByDistance(byDistance, to, t, stride, distances);
}

/** c += A B, with numbers by distance in A and a table in B. */
function byTable(a: usize, table: usize, t: i32, c: usize, cRow: i32): void {
  const row = 4 * distances;
  product(t, features(), distances, a, row, 4, table, headWidth, 4, c, cRow, true, packing);
}

/** Draws for `count` weights: signs those that are kept, and writes them times `kept` to `used`. */
function drop(p: usize, count: u32, number: i32): void {
  const factor = f32x4.splat(kept);
  let to = used;
  for (let from: u32 = 0; from < count; from += DRAWN) {
    draw(spare, from / DRAWN, k0, k1, k2, k3 ^ number, limit, -0.0);
    const end = min(DRAWN, count - from);
    for (let i: u32 = 0; i < end; i += 4, p += 16, to += 16) {
      const sign = v128.load(factorAt(spare, i)), weight = v128.load(p);
      v128.store(p, v128.or(weight, sign));
      v128.store(to, v128.and(f32x4.mul(weight, factor), i32x4.shr_s(sign, 31)));
    }
  }
}

/**
 * The gradients of a document's x and of the tables, whose sums they are added to, given that of y. Of
 * the weights, those that `attention` left, or none. `ds` and `dNear` are for work as `scratch` and
 * `near` are.
 */
export function attentionGradient(
  x: usize,
  weights: usize,
  dy: usize,
  dx: usize,
  dKeys: usize,
  dValues: usize,
  ds: usize,
  dNear: usize,
  t: i32,
  first: i32,
): void {
  const row = 3 * width, d = features(), stride = strideOf(t), down = 4 * stride;
  const by = 4 * distances;
  for (let h = 0; h < heads; h++, x += headWidth, dx += headWidth, dy += headWidth) {
    const p = weights == 0 ? scratch : weights;
    if (weights == 0) weigh(x, t, p, first + h);
    else weights += t * down;
    // d(P ⊙ factors) = dO Vᵀ
    scores(dy, width, x + 2 * width, row, t, values, ds, dNear);
    softmaxGradient(p, ds, t, down);
    product(t, d, t, ds, down, 4, x + width, row, 4, dx, row, false, packing);
    product(t, d, t, ds, 4, down, x, row, 4, dx + width, row, false, packing);
    product(t, d, t, used, 4, down, dy, width, 4, dx + 2 * width, row, false, packing);
    if (distances == 0) continue;
    sumByDistance(used, near, t, stride, distances);
    product(distances, d, t, near, 4, by, dy, width, 4, dValues, headWidth, true, packing);
    sumByDistance(ds, dNear, t, stride, distances);
    product(distances, d, t, dNear, 4, by, x, row, 4, dKeys, headWidth, true, packing);
    byTable(dNear, keys, t, dx, row);
  }
}

/**
 * ds = scale × p ⊙ (ds ⊙ factors − Σ ds ⊙ factors ⊙ p) by rows, where ds comes in as the gradient of
 * p ⊙ factors; that, what is left of the weights, is written to `used`.
 */
function softmaxGradient(p: usize, ds: usize, rows: i32, stride: i32): void {
  const factor = f32x4.splat(scale), left = f32x4.splat(kept == 0 ? 1 : kept);
  // All ones where there is no dropout, so that all is kept.
  const always = i32x4.splat(kept == 0 ? -1 : 0);
  let to = used;
  for (let row = 0; row < rows; row++) {
    const columns = causal ? row + 1 : rows, end = 4 * ((columns + 3) & -4);
    let sum = f32x4.splat(0);
    for (let at = 0; at < end; at += 16) {
      const signed = v128.load(p + at), weight = f32x4.abs(signed);
      // What the row does not fill may be anything; the mask alone removes it.
      const here = v128.and(
        v128.or(i32x4.shr_s(signed, 31), always),
        inside(columns, at >> 2),
      );
      const slope = v128.and(f32x4.mul(v128.load(ds + at), left), here);
      v128.store(ds + at, slope);
      v128.store(to + at, v128.and(f32x4.mul(weight, left), here));
      sum = madd(weight, slope, sum);
    }
    sum = f32x4.splat(sumOf(sum));
    for (let at = 0; at < end; at += 16) {
      const difference = f32x4.sub(v128.load(ds + at), sum);
      const weight = f32x4.abs(v128.load(p + at));
      v128.store(ds + at, f32x4.mul(difference, f32x4.mul(weight, factor)));
    }
    for (let at = end; at < stride; at += 16) {
      v128.store(ds + at, ZERO);
      v128.store(to + at, ZERO);
    }
    p += stride, ds += stride, to += stride;
  }
}

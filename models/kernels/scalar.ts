/**
 * The inner loops of training in plain TypeScript: what the `cpu` backend runs, and the reference
 * for those of `assembly/`. They compute in doubles, from portable operations alone, and round
 * to float32 where they store.
 *
 * @module
 */
import { INVERSE_ROOT_TWO_PI, LN2_HIGH, LN2_LOW, LOG2_E } from "../portable_math.ts";
import { type StreamKey, threefry } from "../random.ts";
import {
  type AttentionGradients,
  type AttentionSlopes,
  type AttentionTask,
  scalarAttention,
  scalarAttentionGradient,
} from "./scalar_attention.ts";

/** C[m,n] = A[m,k] B[k,n] (+ C), all strides in elements. */
export interface Product {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly a: Float32Array;
  /** Distance of A's rows; `k` unless given. */
  readonly aRow?: number;
  /** Distance of A's columns; 1 unless given. */
  readonly aColumn?: number;
  readonly b: Float32Array;
  /** Distance of B's rows; `n` unless given. */
  readonly bRow?: number;
  /** Distance of B's columns; 1 unless given. */
  readonly bColumn?: number;
  readonly c: Float32Array;
  /** Distance of C's rows; `n` unless given. */
  readonly cRow?: number;
  /** Whether to add to what C holds. */
  readonly accumulate?: boolean;
}

/** A matrix whose rows lie `stride` apart, `stride` being a multiple of 4. */
export interface Rows {
  readonly rows: number;
  readonly columns: number;
  readonly stride: number;
  /** Whether row i has columns 0 to i alone; the others become 0. */
  readonly causal?: boolean;
}

/** What one step of Adam does to all weights; `models/optimizer.ts` has the formulas. */
export interface AdamStep {
  /** Weight decay that is added to the gradient. */
  readonly coupled: number;
  /** What weights are multiplied with before the step. */
  readonly shrink: number;
  readonly beta1: number;
  readonly beta2: number;
  /** The rate over 1 − β₁ᵗ. */
  readonly size: number;
  /** √(1 − β₂ᵗ). */
  readonly correction: number;
  readonly epsilon: number;
}

/** The loops a backend's kernels are made of. */
export interface Loops {
  product(o: Product): void;
  /** y = gelu(x), exact form `x Φ(x)`. */
  gelu(x: Float32Array, y: Float32Array): void;
  /** dx = dy gelu′(x). */
  geluGradient(x: Float32Array, dy: Float32Array, dx: Float32Array): void;
  /** Softmax of each row of `scale × x`, in place; what is between the rows becomes 0. */
  softmax(x: Float32Array, rows: Rows, scale: number): void;
  /** Attention; the weights are left in a form that the gradient knows, unless there is no room. */
  attention(task: AttentionTask, to: { y: Float32Array; weights: Float32Array }): void;
  attentionGradient(task: AttentionTask, o: AttentionSlopes, to: AttentionGradients): void;
  /** y = a ⊙ b; y may be one of them. */
  multiply(a: Float32Array, b: Float32Array, y: Float32Array): void;
  /** Each row of y becomes b. */
  fillRows(b: Float32Array, y: Float32Array): void;
  /** b = the sum of y's rows, each added in turn and rounded. */
  sumOfRows(y: Float32Array, b: Float32Array): void;
  /**
   * (x − mean) × inverse by rows of as many numbers as `gain` has, inverse being 1/√(variance + ε), and
   * y = that ⊙ gain + bias.
   */
  layerNorm(
    o: { x: Float32Array; gain: Float32Array; bias?: Float32Array | undefined; epsilon: number },
    to: { y: Float32Array; normed: Float32Array; inverse: Float32Array },
  ): void;
  /** The gradients of x, gain and bias; `sums` is for work, 4 numbers for each of a row. */
  layerNormGradient(
    o: { normed: Float32Array; inverse: Float32Array; gain: Float32Array; dy: Float32Array },
    to: { dx: Float32Array; dGain: Float32Array; dBias: Float32Array; sums: Float32Array },
  ): void;
  /** Changes weights p and their moments m and v, given their gradient g. */
  adam(
    o: { p: Float32Array; g: Float32Array; m: Float32Array; v: Float32Array },
    step: AdamStep,
  ): void;
  /**
   * p = softmax of z by rows of `k` numbers. Tops and totals are each row's largest number and
   * Σ e^{z − largest}; `powers` is for work, k + 1 numbers.
   */
  probabilities(
    z: Float32Array,
    k: number,
    to: { p: Float32Array; tops: Float64Array; totals: Float64Array; powers: Float64Array },
  ): void;
  /** y = x + h ⊙ the factors that `keep` gives. */
  addDropped(
    o: { x: Float32Array; h: Float32Array; y: Float32Array },
    drop: { key: StreamKey; rate: number; from: number },
  ): void;
  /** Dropout's factors: 0 with probability `rate`, else 1/(1−rate); see {@linkcode keepFactors}. */
  keep(key: StreamKey, rate: number, out: Float32Array, from?: number): void;
}

const bits = /* @__PURE__ */ new Int32Array(1);
const asFloat = /* @__PURE__ */ new Float32Array(bits.buffer);

/** eˣ for x ≤ 0 with relative error below 1e-8; 0 below −87. */
export function expNegative(x: number): number {
  if (!(x > -87)) return x <= -87 ? 0 : x;
  const k = Math.round(x * LOG2_E);
  const r = x - k * LN2_HIGH - k * LN2_LOW;
  const series = 1 + r * (1 + r * (0.5 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720 +
                            r * (1 / 5040)))))));
  bits[0] = (k + 127) << 23;
  return series * asFloat[0]!;
}

/** The logistic function 1/(1 + e^{−z}). */
export function logistic(z: number): number {
  const power = expNegative(-Math.abs(z));
  return z >= 0 ? 1 / (1 + power) : power / (1 + power);
}

/** Coefficients, highest power first, of Φ(−z) e^{z²/2} / t in t = 1/(1 + z/4), 0 ≤ z ≤ 6. */
export const TAIL: readonly number[] = [
  0.03798004579664045,
  -0.21706994846575643,
  0.4409528521973844,
  -0.38895707478569433,
  0.34389571679887533,
  -0.036357376380823886,
  0.1244688145556421,
  0.09503836410418038,
  0.10004860645703722,
];

/** Φ(−z) = (1 − erf(z/√2))/2 for z ≥ 0, given e^{−z²/2}; absolute error below 1e-9. */
function upperTail(z: number, gauss: number): number {
  const t = 1 / (1 + 0.25 * Math.min(z, 6));
  let sum = 0;
  for (let i = 0; i < 9; i++) sum = sum * t + TAIL[i]!;
  return sum * t * gauss;
}

/** Φ(x), the standard normal distribution function; absolute error below 1e-8. */
export function normalCdf(x: number): number {
  const z = Math.abs(x);
  const tail = upperTail(z, expNegative(-0.5 * z * z));
  return x > 0 ? 1 - tail : tail;
}

/**
 * Dropout's factors for elements 0, 1, … of a stream. Element 32g + 16h + 4w + b takes half h of
 * word w of Threefry block 4g + b: it is dropped if those 16 bits are below round(65536 × rate).
 * The order suits four blocks computed at a time.
 */
export function keepFactors(key: StreamKey, rate: number, out: Float32Array, from = 0): void {
  const limit = Math.round(rate * 65536);
  const kept = 1 / (1 - rate);
  const words = new Uint32Array(16);
  const end = from + out.length;
  for (let start = from - from % 32; start < end; start += 32) {
    for (let block = 0; block < 4; block++) {
      threefry(key, [start / 8 + block, 0, 0, 0], words, 4 * block);
    }
    for (let element = Math.max(from, start); element < Math.min(end, start + 32); element++) {
      const i = element - start;
      const word = words[4 * (i & 3) + ((i >> 2) & 3)]!;
      const half = i < 16 ? word & 0xffff : word >>> 16;
      out[element - from] = half < limit ? 0 : kept;
    }
  }
}

function product(o: Product): void {
  const { m, n, k, a, b, c } = o;
  const aRow = o.aRow ?? k, aColumn = o.aColumn ?? 1;
  const bRow = o.bRow ?? n, bColumn = o.bColumn ?? 1, cRow = o.cRow ?? n;
  const sums = new Float64Array(n);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) sums[j] = o.accumulate === true ? c[i * cRow + j]! : 0;
    for (let kk = 0; kk < k; kk++) {
      const factor = a[i * aRow + kk * aColumn]!;
      const from = kk * bRow;
      for (let j = 0; j < n; j++) sums[j]! += factor * b[from + j * bColumn]!;
    }
    for (let j = 0; j < n; j++) c[i * cRow + j] = sums[j]!;
  }
}

function gelu(x: Float32Array, y: Float32Array): void {
  for (let i = 0; i < x.length; i++) y[i] = x[i]! * normalCdf(x[i]!);
}

function geluGradient(x: Float32Array, dy: Float32Array, dx: Float32Array): void {
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    const z = Math.abs(value);
    const gauss = expNegative(-0.5 * z * z);
    const tail = upperTail(z, gauss);
    dx[i] = dy[i]! * ((value > 0 ? 1 - tail : tail) + value * gauss * INVERSE_ROOT_TWO_PI);
  }
}

function softmax(x: Float32Array, shape: Rows, scale: number): void {
  const { rows, columns, stride, causal } = shape;
  for (let row = 0, start = 0; row < rows; row++, start += stride) {
    const end = start + (causal ? row + 1 : columns);
    let largest = -Infinity;
    for (let i = start; i < end; i++) largest = Math.max(largest, x[i]!);
    let sum = 0;
    for (let i = start; i < end; i++) {
      const power = expNegative((x[i]! - largest) * scale);
      x[i] = power;
      sum += power;
    }
    const inverse = 1 / sum;
    for (let i = start; i < end; i++) x[i]! *= inverse;
    x.fill(0, end, start + stride);
  }
}

function multiply(a: Float32Array, b: Float32Array, y: Float32Array): void {
  for (let i = 0; i < y.length; i++) y[i] = a[i]! * b[i]!;
}

function fillRows(b: Float32Array, y: Float32Array): void {
  for (let at = 0; at < y.length; at += b.length) y.set(b, at);
}

function sumOfRows(y: Float32Array, b: Float32Array): void {
  b.fill(0);
  for (let at = 0; at < y.length;) for (let j = 0; j < b.length; j++) b[j]! += y[at++]!;
}

const layerNorm: Loops["layerNorm"] = ({ x, gain, bias, epsilon }, { y, normed, inverse }) => {
  const c = gain.length;
  for (let row = 0; row < inverse.length; row++) {
    const start = row * c, end = start + c;
    let mean = 0;
    for (let i = start; i < end; i++) mean += x[i]!;
    mean /= c;
    let variance = 0;
    for (let i = start; i < end; i++) {
      const centred = x[i]! - mean;
      variance += centred * centred;
    }
    const scale = 1 / Math.sqrt(variance / c + epsilon);
    inverse[row] = scale;
    for (let i = start, j = 0; j < c; i++, j++) {
      const value = (x[i]! - mean) * scale;
      normed[i] = value;
      y[i] = value * gain[j]! + (bias === undefined ? 0 : bias[j]!);
    }
  }
};

const layerNormGradient: Loops["layerNormGradient"] = (
  { normed, inverse, gain, dy },
  { dx, dGain, dBias, sums },
) => {
  const c = gain.length;
  const gains = new Float64Array(sums.buffer, sums.byteOffset, c).fill(0);
  const biases = new Float64Array(sums.buffer, sums.byteOffset + 8 * c, c).fill(0);
  for (let row = 0; row < inverse.length; row++) {
    const start = row * c;
    let mean = 0, along = 0;
    for (let j = 0, i = start; j < c; i++, j++) {
      const d = dy[i]!, value = normed[i]!, scaled = d * gain[j]!;
      mean += scaled;
      along += scaled * value;
      gains[j]! += d * value;
      biases[j]! += d;
    }
    mean /= c;
    along /= c;
    const scale = inverse[row]!;
    for (let j = 0, i = start; j < c; i++, j++) {
      dx[i] = (dy[i]! * gain[j]! - mean - normed[i]! * along) * scale;
    }
  }
  dGain.set(gains);
  dBias.set(biases);
};

const adam: Loops["adam"] = ({ p, g, m, v }, step) => {
  const { coupled, shrink, beta1, beta2, size, correction, epsilon } = step;
  for (let i = 0; i < p.length; i++) {
    const d = g[i]! + coupled * p[i]!;
    const first = beta1 * m[i]! + (1 - beta1) * d;
    const second = beta2 * v[i]! + (1 - beta2) * d * d;
    m[i] = first;
    v[i] = second;
    p[i] = shrink * p[i]! - size * first / (Math.sqrt(second) / correction + epsilon);
  }
};

const probabilities: Loops["probabilities"] = (z, k, { p, tops, totals, powers }) => {
  for (let row = 0; row < totals.length; row++) {
    const at = row * k;
    let top = -Infinity;
    for (let j = 0; j < k; j++) top = Math.max(top, z[at + j]!);
    let total = 0;
    for (let j = 0; j < k; j++) total += powers[j] = expNegative(z[at + j]! - top);
    for (let j = 0; j < k; j++) p[at + j] = powers[j]! / total;
    tops[row] = top;
    totals[row] = total;
  }
};

const addDropped: Loops["addDropped"] = ({ x, h, y }, { key, rate, from }) => {
  keepFactors(key, rate, y, from);
  multiply(h, y, y);
  for (let i = 0; i < y.length; i++) y[i]! += x[i]!;
};

/** The loops in plain TypeScript. */
export const scalarLoops: Loops = {
  product,
  gelu,
  geluGradient,
  softmax,
  attention: (...call) =>
    scalarAttention({ product, softmax, multiply, keep: keepFactors }, ...call),
  attentionGradient: (...call) =>
    scalarAttentionGradient({ product, softmax, multiply, keep: keepFactors }, ...call),
  multiply,
  fillRows,
  sumOfRows,
  layerNorm,
  layerNormGradient,
  adam,
  probabilities,
  addDropped,
  keep: keepFactors,
};

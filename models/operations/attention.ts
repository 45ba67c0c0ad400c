/** @module */
import * as tf from "@tensorflow/tfjs";
import type { WeightsDropout } from "../kernels/attention/frame.ts";
import { deviceAttention } from "../kernels/device_attention.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import type { Loops } from "../kernels/scalar.ts";

/** How rows are grouped into documents and features into heads. */
export interface AttentionOptions {
  /** B + 1 row numbers: document i has rows offsets_i to offsets_{i+1} − 1. */
  readonly offsets: Int32Array;
  readonly heads: number;
  /** Whether a token sees itself and what precedes it alone. */
  readonly causal?: boolean;
  /** Dropout of the attention weights; none in evaluation. */
  readonly dropout?: WeightsDropout | undefined;
  readonly relative?: RelativeEmbeddings | undefined;
}

/**
 * Embeddings of the distance j − i, clipped to −K..K, for key j of query i: added to keys and to
 * values. Shaw, Uszkoreit & Vaswani 2018, eqs. 3–5; shared by all heads.
 */
export interface RelativeEmbeddings {
  /** float32 [2K + 1, D]. */
  readonly keys: tf.Tensor;
  /** float32 [2K + 1, D]. */
  readonly values: tf.Tensor;
}

/**
 * Multi-head self-attention within each document: softmax(QKᵀ/√D)V for every head.
 *
 * Vaswani et al. 2017, eq. 1; our D is their d_k. Documents lie one after the other instead of
 * being padded to one length, which is what a key-padding mask computes. Where the weights would
 * take much memory they are computed again for the gradient rather than kept: it does not grow with
 * length squared.
 *
 * @param qkv float32 [N, 3C]: queries, keys and values, each [N, C] with C = heads × D.
 * @returns float32 [N, C].
 * @throws {RangeError} If the heads do not divide C, or relative embeddings are not [2K + 1, D].
 */
export function attention(qkv: tf.Tensor, options: AttentionOptions): tf.Tensor2D {
  const { offsets, heads, relative } = options;
  const [n, width] = qkv.shape as [number, number];
  const c = width / 3, d = c / heads;
  if (!Number.isInteger(d)) {
    throw new RangeError(
      `attention: 3 × heads must divide the width, got width ${width} and ${heads} heads`,
    );
  }
  const distances = relative?.keys.shape[0] ?? 0;
  if (relative !== undefined && (distances % 2 === 0 || relative.keys.shape[1] !== d)) {
    throw new RangeError(
      `attention: relative embeddings must be [2K + 1, ${d}], got [${relative.keys.shape}]`,
    );
  }
  if (!onHost()) return deviceAttention(qkv, options);
  let longest = 0;
  for (let i = 1; i < offsets.length; i++) {
    longest = Math.max(longest, offsets[i]! - offsets[i - 1]!);
  }
  let weights = 0;
  forEachHead({ offsets, heads, c }, ({ t, stride }) => weights += t * stride);
  const kept = weights <= MAX_KEPT ? weights : 0;
  const sizes: Sizes = { n, c, distances, square: longest * ceil4(longest), longest, kept };
  const inputs = relative === undefined ? [qkv] : [qkv, relative.keys, relative.values];
  return differentiable<tf.Tensor2D>(
    inputs,
    () => {
      const [value, weights] = forward(inputs, { ...options, ...sizes });
      return { value: value!, keep: [...inputs, weights!] };
    },
    (dy, kept) => gradient([...kept, dy], { ...options, ...sizes }),
  );
}

/** Weights kept for the gradient at most: 32 MiB a layer. */
const MAX_KEPT = 1 << 23;

interface Sizes {
  readonly n: number;
  readonly c: number;
  /** 2K + 1, or 0. */
  readonly distances: number;
  readonly longest: number;
  /** Elements of the largest head's weights. */
  readonly square: number;
  /** Elements of all weights, if they are kept for the gradient, else 0. */
  readonly kept: number;
}

/** The next multiple of 4: the distance between rows of weights. */
function ceil4(n: number): number {
  return (n + 3) & ~3;
}

interface Head {
  /** Tokens, first row, first feature and number of features. */
  readonly t: number;
  readonly start: number;
  readonly from: number;
  readonly d: number;
  /** Distance between rows of weights. */
  readonly stride: number;
  /** Counts (document, head) pairs. */
  readonly index: number;
  /** Elements of the weights of all heads before. */
  readonly at: number;
}

function forEachHead(
  { offsets, heads, c }: { offsets: Int32Array; heads: number; c: number },
  visit: (head: Head) => void,
): void {
  const d = c / heads;
  for (let document = 0, index = 0, at = 0; document + 1 < offsets.length; document++) {
    const start = offsets[document]!;
    const t = offsets[document + 1]! - start;
    const stride = ceil4(t);
    for (let h = 0; h < heads; h++, index++, at += t * stride) {
      visit({ t, start, from: h * d, d, stride, index, at });
    }
  }
}

function forward(inputs: tf.Tensor[], options: AttentionOptions & Sizes): tf.Tensor[] {
  const { n, c, square, distances, longest, kept } = options;
  const call = {
    inputs,
    outputs: [[n, c], [kept]],
    scratch: [square, square, longest * distances],
  };
  return runHost("attention", call, (arrays, [y, weights], [spare, keep, near], loops) => {
    const [x, keys, values] = arrays as [Float32Array, Float32Array?, Float32Array?];
    forEachHead(options, (head) => {
      const { t, d, start, from, stride, at } = head;
      const out = kept > 0 ? weights!.subarray(at) : spare!;
      const p = attentionWeights(x, head, { ...options, out, near: near!, keys, loops });
      const a = dropped(p, head, { ...options, keep: keep!, loops });
      const v = x.subarray(start * 3 * c + 2 * c + from);
      const to = { c: y!.subarray(start * c + from), cRow: c };
      loops.product({ m: t, n: d, k: t, a, aRow: stride, b: v, bRow: 3 * c, ...to });
      if (values === undefined) return;
      sumByDistance(a, near!, { ...head, distances });
      loops.product({ m: t, n: d, k: distances, a: near!, b: values, ...to, accumulate: true });
    });
  });
}

interface WeightsWork extends Sizes {
  readonly out: Float32Array;
  readonly near: Float32Array;
  readonly keys: Float32Array | undefined;
  readonly causal?: boolean;
  readonly loops: Loops;
}

/** softmax(Q(K + relative keys)ᵀ/√D) of one head, rows `stride` apart. */
function attentionWeights(x: Float32Array, head: Head, work: WeightsWork): Float32Array {
  const { t, start, from, d, stride } = head;
  const { c, loops, keys, near, distances, causal } = work;
  const p = work.out.subarray(0, t * stride);
  const q = { a: x.subarray(start * 3 * c + from), aRow: 3 * c };
  const k = x.subarray(start * 3 * c + c + from);
  loops.product({ m: t, n: t, k: d, ...q, b: k, bRow: 1, bColumn: 3 * c, c: p, cRow: stride });
  if (keys !== undefined) {
    loops.product({ m: t, n: distances, k: d, ...q, b: keys, bRow: 1, bColumn: d, c: near });
    addByDistance(near, p, { ...head, distances });
  }
  const rows = { rows: t, columns: t, stride, causal: causal === true };
  loops.softmax(p, rows, 1 / Math.sqrt(d));
  return p;
}

type Distances = Head & { readonly distances: number };

/** to[i, j] += near[i, clip(j − i) + K]. */
function addByDistance(near: Float32Array, to: Float32Array, o: Distances): void {
  const { t, stride, distances } = o;
  const k = (distances - 1) / 2;
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      to[i * stride + j]! += near[i * distances + Math.max(-k, Math.min(k, j - i)) + k]!;
    }
  }
}

/** near[i, r] = Σ from[i, j] over the j with clip(j − i) + K = r. */
function sumByDistance(from: Float32Array, near: Float32Array, o: Distances): void {
  const { t, stride, distances } = o;
  const k = (distances - 1) / 2;
  near.fill(0, 0, t * distances);
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      near[i * distances + Math.max(-k, Math.min(k, j - i)) + k]! += from[i * stride + j]!;
    }
  }
}

interface KeepWork {
  readonly dropout?: WeightsDropout | undefined;
  readonly heads: number;
  readonly keep: Float32Array;
  readonly loops: Loops;
}

/** One head's dropout factors, in `keep`; `undefined` without dropout. */
function keepFactors({ t, stride, index }: Head, work: KeepWork): Float32Array | undefined {
  const { dropout, heads, keep, loops } = work;
  if (dropout === undefined || dropout.rate === 0) return undefined;
  const factors = keep.subarray(0, t * stride);
  const [k0, k1, k2, k3] = dropout.key;
  const stream = (dropout.before ?? 0) * heads + index;
  loops.keep([k0, k1, k2, (k3 ^ stream) >>> 0], dropout.rate, factors);
  return factors;
}

/** Weights after dropout: in `keep`, or the weights themselves. */
function dropped(p: Float32Array, head: Head, work: KeepWork): Float32Array {
  const factors = keepFactors(head, work);
  if (factors === undefined) return p;
  work.loops.multiply(p, factors, factors);
  return factors;
}

type Triple = [Float32Array, Float32Array, Float32Array];

function gradient(inputs: tf.Tensor[], options: AttentionOptions & Sizes): tf.Tensor[] {
  const { n, c, square, distances, longest, causal, kept } = options;
  const relative = distances > 0;
  const d = c / options.heads;
  const call = {
    inputs,
    outputs: [[n, 3 * c], ...(relative ? [[distances, d], [distances, d]] : [])],
    scratch: [square, square, longest * distances, square, longest * distances],
  };
  return runHost("attentionGradient", call, (arrays, [dx, dKeys, dValues], scratch, loops) => {
    const [x, keys, values] = [arrays[0]!, ...(relative ? arrays.slice(1, 3) : [])];
    const [weights, dy] = arrays.slice(-2) as [Float32Array, Float32Array];
    const [spare, keep, near, square, dNear] = scratch as [...Triple, Float32Array, Float32Array];
    const row = 3 * c;
    if (relative) dKeys!.fill(0), dValues!.fill(0);
    forEachHead(options, (head) => {
      const { t, start, from, stride } = head;
      const at = start * row + from;
      const [q, k, v] = [0, c, 2 * c].map((shift) => x.subarray(at + shift)) as Triple;
      const [dq, dk, dv] = [0, c, 2 * c].map((shift) => dx!.subarray(at + shift)) as Triple;
      const dOut = dy.subarray(start * c + from);
      const p = kept > 0
        ? weights.subarray(head.at, head.at + t * stride)
        : attentionWeights(x, head, { ...options, out: spare, near, keys, loops });
      // dP = (dO Vᵀ) ⊙ keep, where O = (P ⊙ keep) V.
      const ds = square.subarray(0, t * stride);
      const vT = { b: v, bRow: 1, bColumn: row };
      loops.product({ m: t, n: t, k: d, a: dOut, aRow: c, ...vT, c: ds, cRow: stride });
      if (relative) {
        const valuesT = { b: values!, bRow: 1, bColumn: d };
        loops.product({ m: t, n: distances, k: d, a: dOut, aRow: c, ...valuesT, c: dNear });
        addByDistance(dNear, ds, { ...head, distances });
      }
      const factors = keepFactors(head, { ...options, keep, loops });
      if (factors !== undefined) loops.multiply(ds, factors, ds);
      // dS = P ⊙ (dP − Σⱼ dP ⊙ P) / √D
      const rows = { rows: t, columns: t, stride, causal: causal === true };
      loops.softmaxGradient(p, ds, rows, 1 / Math.sqrt(d));
      loops.product({ m: t, n: d, k: t, a: ds, aRow: stride, b: k, bRow: row, c: dq, cRow: row });
      const dsT = { a: ds, aRow: 1, aColumn: stride };
      loops.product({ m: t, n: d, k: t, ...dsT, b: q, bRow: row, c: dk, cRow: row });
      if (factors !== undefined) loops.multiply(p, factors, factors);
      const used = factors ?? p;
      const pT = { a: used, aRow: 1, aColumn: stride };
      loops.product({ m: t, n: d, k: t, ...pT, b: dOut, bRow: c, c: dv, cRow: row });
      if (!relative) return;
      const byDistance = { m: distances, n: d, k: t, aRow: 1, aColumn: distances };
      sumByDistance(used, near, { ...head, distances });
      const dV = { b: dOut, bRow: c, c: dValues!, accumulate: true };
      loops.product({ ...byDistance, a: near, ...dV });
      sumByDistance(ds, dNear, { ...head, distances });
      loops.product({ ...byDistance, a: dNear, b: q, bRow: row, c: dKeys!, accumulate: true });
      const dQ = { c: dq, cRow: row, accumulate: true };
      loops.product({ m: t, n: d, k: distances, a: dNear, b: keys!, ...dQ });
    });
  });
}

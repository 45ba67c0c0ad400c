/** @module */
import * as tf from "@tensorflow/tfjs";
import type { WeightsDropout } from "../kernels/attention/frame.ts";
import { deviceAttention } from "../kernels/device_attention.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import { type AttentionTask, ceil4 } from "../kernels/scalar_attention.ts";

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
  const width = qkv.shape[1]!;
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
  let longest = 0, weights = 0;
  for (let i = 1; i < offsets.length; i++) {
    const t = offsets[i]! - offsets[i - 1]!;
    longest = Math.max(longest, t);
    weights += heads * t * ceil4(t);
  }
  const sizes: Sizes = { c, longest, distances, kept: weights <= MAX_KEPT ? weights : 0 };
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
  readonly c: number;
  /** Tokens of the longest document. */
  readonly longest: number;
  /** 2K + 1, or 0. */
  readonly distances: number;
  /** Elements of all weights, if they are kept for the gradient, else 0. */
  readonly kept: number;
}

type Options = AttentionOptions & Sizes;

function forward(inputs: tf.Tensor[], options: Options): tf.Tensor[] {
  const { c, kept } = options, n = inputs[0]!.shape[0]!;
  const { square, byDistance } = sizesOf(options);
  const call = { inputs, outputs: [[n, c], [kept]], scratch: [square, square, byDistance] };
  return runHost("attention", call, ([qkv, keys, values], [y, weights], work, loops) => {
    const task = { ...taskOf(options, work), qkv: qkv!, keys, values };
    loops.attention(task, { y: y!, weights: weights! });
  });
}

function gradient(inputs: tf.Tensor[], options: Options): tf.Tensor[] {
  const { c, distances, heads } = options, n = inputs[0]!.shape[0]!;
  const tables = distances > 0 ? [[distances, c / heads], [distances, c / heads]] : [];
  const { square, byDistance } = sizesOf(options);
  const scratch = [square, square, byDistance, square, byDistance];
  const call = { inputs, outputs: [[n, 3 * c], ...tables], scratch };
  return runHost("attentionGradient", call, (arrays, [dx, dKeys, dValues], work, loops) => {
    const [weights, dy] = arrays.slice(-2) as [Float32Array, Float32Array];
    const [qkv, keys, values] = arrays.slice(0, -2);
    dKeys?.fill(0), dValues?.fill(0);
    loops.attentionGradient(
      { ...taskOf(options, work), qkv: qkv!, keys, values },
      { weights, dy, ds: work[3]!, dNear: work[4]! },
      { dx: dx!, dKeys, dValues },
    );
  });
}

/** Elements of the largest head's weights, and of its scores by distance. */
function sizesOf({ longest, distances }: Sizes): { square: number; byDistance: number } {
  return { square: longest * ceil4(longest), byDistance: longest * distances };
}

function taskOf(
  { offsets, heads, distances, causal, dropout }: Options,
  work: Float32Array[],
): Omit<AttentionTask, "qkv" | "keys" | "values"> {
  const [weights, used, near] = work as [Float32Array, Float32Array, Float32Array];
  const drops = dropout !== undefined && dropout.rate > 0
    ? { rate: dropout.rate, key: dropout.key, first: (dropout.before ?? 0) * heads }
    : undefined;
  const room = { weights, used, near };
  return { offsets, heads, distances, causal: causal === true, dropout: drops, work: room };
}

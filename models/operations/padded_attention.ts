/** @module */
import * as tf from "@tensorflow/tfjs";
import { lengthsOf } from "../batch.ts";
import { deviceKeepHeads, moveRows } from "../kernels/device.ts";
import type { AttentionOptions } from "./attention.ts";

/** Added to the scores of padding: their weights underflow to 0. */
const MASKED = -1e9;

/**
 * `attention` on a device that wants all documents of one length: they are padded, padding's keys
 * are masked, and its rows are dropped from the result.
 *
 * @param qkv float32 [N, 3C].
 * @returns float32 [N, C].
 */
export function paddedAttention(qkv: tf.Tensor, options: AttentionOptions): tf.Tensor2D {
  const { offsets, heads, dropout, relative } = options;
  const lengths = lengthsOf(offsets);
  const b = lengths.length, t = Math.max(...lengths);
  const c = qkv.shape[1]! / 3, d = c / heads;
  // Where each padded row comes from, −1 for padding; where each row went.
  const source = new Int32Array(b * t).fill(-1), target = new Int32Array(offsets[b]!);
  const masks = new Float32Array(b * heads * t);
  for (let document = 0; document < b; document++) {
    for (let i = 0; i < lengths[document]!; i++) {
      source[document * t + i] = offsets[document]! + i;
      target[offsets[document]! + i] = document * t + i;
    }
    for (let h = 0; h < heads; h++) {
      const start = (document * heads + h) * t;
      masks.fill(MASKED, start + lengths[document]!, start + t);
    }
  }
  const padded = moveRows(qkv, source, target); // [B T, 3C]
  const split = tf.transpose(tf.reshape(padded, [b, t, 3, heads, d]), [2, 0, 3, 1, 4]);
  const [q, k, v] = tf.unstack(tf.reshape(split, [3, b * heads, t, d])) as [
    tf.Tensor,
    tf.Tensor,
    tf.Tensor,
  ]; // each [B H, T, D]
  const pairs = b * heads;
  let scores: tf.Tensor = tf.matMul(q, k, false, true);
  let places: tf.Tensor | undefined;
  if (relative !== undefined) {
    const distances = relative.keys.shape[0]!;
    places = distancePlaces(t, distances);
    const near = tf.matMul(tf.reshape(q, [pairs * t, d]), tf.transpose(relative.keys));
    scores = tf.add(scores, byDistance(tf.reshape(near, [pairs, t, distances]), places));
  }
  scores = tf.mul(scores, 1 / Math.sqrt(d));
  if (options.causal === true) scores = tf.add(scores, causalMask(t));
  let weights = tf.softmax(tf.add(scores, tf.tensor3d(masks, [b * heads, 1, t]))); // [B H, T, T]
  if (dropout !== undefined && dropout.rate > 0) {
    const keep = deviceKeepHeads(dropout.key, dropout.rate, { lengths, heads, t });
    weights = tf.mul(weights, keep);
  }
  let mixed: tf.Tensor = tf.matMul(weights, v);
  if (relative !== undefined) {
    const distances = relative.keys.shape[0]!;
    const placesT = tf.transpose(places!, [0, 2, 1]);
    const near = byDistance(weights, placesT); // [B H, T, 2K + 1]
    const rows = tf.matMul(
      tf.reshape(near, [pairs * t, distances]),
      relative.values as tf.Tensor2D,
    );
    mixed = tf.add(mixed, tf.reshape(rows, [pairs, t, d]));
  }
  mixed = tf.reshape(mixed, [b, heads, t, d]);
  const rows = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [b * t, c]);
  return moveRows(rows, target, source);
}

/** What relative embeddings add to the scores: Q aᵀ by distance, [B H, T, T]. */
function byDistance(near: tf.Tensor, places: tf.Tensor): tf.Tensor {
  // One matrix for each query position i: [T, B H, 2K + 1] × [T, 2K + 1, T].
  const product = tf.matMul(tf.transpose(near, [1, 0, 2]), places);
  return tf.transpose(product, [1, 0, 2]);
}

/** places[i, clip(j − i) + K, j] = 1, else 0: [T, 2K + 1, T]. */
function distancePlaces(t: number, distances: number): tf.Tensor3D {
  const k = (distances - 1) / 2;
  const places = new Float32Array(t * distances * t);
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      places[(i * distances + Math.max(-k, Math.min(k, j - i)) + k) * t + j] = 1;
    }
  }
  return tf.tensor3d(places, [t, distances, t]);
}

/** Added to scores: 0 where j ≤ i, else so little that the weight underflows to 0; [1, T, T]. */
function causalMask(t: number): tf.Tensor3D {
  const mask = new Float32Array(t * t);
  for (let i = 0; i < t; i++) mask.fill(MASKED, i * t + i + 1, (i + 1) * t);
  return tf.tensor3d(mask, [1, t, t]);
}

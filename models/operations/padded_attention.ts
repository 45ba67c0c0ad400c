/** @module */
import * as tf from "@tensorflow/tfjs";
import { lengthsOf } from "../batch.ts";
import { deviceKeepHeads, gatherRows } from "../kernels/device.ts";
import { differentiable } from "../kernels/host.ts";
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
  const { offsets, heads, dropout } = options;
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
  const scores = tf.mul(tf.matMul(q, k, false, true), 1 / Math.sqrt(d));
  let weights = tf.softmax(tf.add(scores, tf.tensor3d(masks, [b * heads, 1, t]))); // [B H, T, T]
  if (dropout !== undefined && dropout.rate > 0) {
    const keep = deviceKeepHeads(dropout.key, dropout.rate, { lengths, heads, t });
    weights = tf.mul(weights, keep);
  }
  const mixed = tf.reshape(tf.matMul(weights, v), [b, heads, t, d]);
  const rows = tf.reshape(tf.transpose(mixed, [0, 2, 1, 3]), [b * t, c]);
  return moveRows(rows, target, source);
}

/** Rows of x by number; `back` gives for each row of x the place it was moved to, if any. */
function moveRows(x: tf.Tensor, rows: Int32Array, back: Int32Array): tf.Tensor2D {
  return differentiable<tf.Tensor2D>(
    [x],
    () => ({ value: gatherRows(x, rows), keep: [] }),
    (dy) => [gatherRows(dy, back)],
  );
}

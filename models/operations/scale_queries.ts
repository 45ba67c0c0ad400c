/** @module */
import * as tf from "@tensorflow/tfjs";
import { differentiable, onHost, runHost } from "../kernels/host.ts";

/**
 * Multiplies every query by a factor: one for all heads of a token, or one for each head.
 *
 * A factor of query i multiplies row i of the scores QKᵀ, whatever computes them.
 *
 * @param qkv float32 [N, 3C]: queries, keys and values.
 * @param factors float32 [N, 1] or [N, heads].
 * @returns float32 [N, 3C].
 */
export function scaleQueries(qkv: tf.Tensor, factors: tf.Tensor): tf.Tensor2D {
  const [n, width] = qkv.shape as [number, number];
  const c = width / 3, groups = factors.shape[1]!;
  const d = c / groups;
  if (!Number.isInteger(d) || factors.shape[0] !== n) {
    throw new RangeError(
      `scaleQueries: factors must be [${n}, heads] with heads dividing ${c}, got [${factors.shape}]`,
    );
  }
  if (!onHost()) {
    const q = tf.reshape(tf.slice(qkv, [0, 0], [n, c]), [n, groups, d]);
    const scaled = tf.reshape(tf.mul(q, tf.reshape(factors, [n, groups, 1])), [n, c]);
    return tf.concat([scaled, tf.slice(qkv, [0, c], [n, 2 * c])], 1) as tf.Tensor2D;
  }
  const forward = () =>
    runHost("scaleQueries", { inputs: [qkv, factors], outputs: [[n, width]] }, ([x, f], [y]) => {
      y!.set(x!);
      for (let row = 0; row < n; row++) {
        for (let j = 0; j < c; j++) {
          y![row * width + j]! *= f![row * groups + Math.floor(j / d)]!;
        }
      }
    })[0]!;
  return differentiable<tf.Tensor2D>(
    [qkv, factors],
    () => ({ value: forward(), keep: [qkv, factors] }),
    (dy, kept) => {
      const call = { inputs: [...kept, dy], outputs: [[n, width], [n, groups]] };
      return runHost("scaleQueriesGradient", call, ([x, f, dy], [dx, df]) => {
        dx!.set(dy!);
        for (let row = 0; row < n; row++) {
          for (let group = 0; group < groups; group++) {
            const start = row * width + group * d, factor = f![row * groups + group]!;
            let sum = 0;
            for (let j = start; j < start + d; j++) {
              sum += x![j]! * dy![j]!;
              dx![j] = dy![j]! * factor;
            }
            df![row * groups + group] = sum;
          }
        }
      });
    },
  );
}

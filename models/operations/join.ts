/** @module */
import * as tf from "@tensorflow/tfjs";
import { differentiable, onHost, runHost } from "../kernels/host.ts";

/**
 * [a; b]: in each row that of a, then that of b.
 *
 * @param a float32 [N, A].
 * @param b float32 [N, B].
 * @returns float32 [N, A + B].
 */
export function join(a: tf.Tensor, b: tf.Tensor): tf.Tensor2D {
  if (!onHost()) return tf.concat([a, b], 1) as tf.Tensor2D;
  const [n, left] = a.shape as [number, number], right = b.shape[1]!;
  const forward = () =>
    runHost("join", { inputs: [a, b], outputs: [[n, left + right]] }, ([a, b], [y]) => {
      for (let row = 0, to = 0; row < n; row++) {
        for (let j = row * left; j < (row + 1) * left; j++) y![to++] = a![j]!;
        for (let j = row * right; j < (row + 1) * right; j++) y![to++] = b![j]!;
      }
    })[0]!;
  return differentiable<tf.Tensor2D>(
    [a, b],
    () => ({ value: forward(), keep: [] }),
    (dy) =>
      runHost(
        "joinGradient",
        { inputs: [dy], outputs: [[n, left], [n, right]] },
        ([dy], [da, db]) => {
          for (let row = 0, from = 0; row < n; row++) {
            for (let j = row * left; j < (row + 1) * left; j++) da![j] = dy![from++]!;
            for (let j = row * right; j < (row + 1) * right; j++) db![j] = dy![from++]!;
          }
        },
      ),
  );
}

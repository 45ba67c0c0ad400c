/** @module */
import * as tf from "@tensorflow/tfjs";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import { logistic } from "../kernels/scalar.ts";

/**
 * Convex mix under a gate: g = σ(z), H = g E + (1 − g) P.
 *
 * Hallam & Tseng 2026, eq. 4.
 *
 * @param z float32 [N, 1], one gate for all features of a row, or [N, C].
 * @param e float32 [N, C].
 * @param p float32 [N, C].
 */
export function mix(z: tf.Tensor, e: tf.Tensor, p: tf.Tensor): tf.Tensor {
  const [n, c] = e.shape as [number, number];
  const gates = z.shape[1]!;
  if (!onHost()) {
    const g = tf.sigmoid(z);
    return tf.add(p, tf.mul(g, tf.sub(e, p)));
  }
  const features = c / gates;
  const forward = () =>
    runHost("mix", { inputs: [z, e, p], outputs: [[n, c]] }, ([z, e, p], [h]) => {
      for (let gate = 0, i = 0; gate < n * gates; gate++) {
        const g = logistic(z![gate]!);
        for (let j = 0; j < features; j++, i++) h![i] = g * e![i]! + (1 - g) * p![i]!;
      }
    })[0]!;
  return differentiable(
    [z, e, p],
    () => ({ value: forward(), keep: [z, e, p] }),
    (dh, kept) => {
      const call = { inputs: [...kept, dh], outputs: [[n, gates], [n, c], [n, c]] };
      return runHost("mixGradient", call, ([z, e, p, dh], [dz, de, dp]) => {
        for (let gate = 0, i = 0; gate < n * gates; gate++) {
          const g = logistic(z![gate]!);
          let sum = 0;
          for (let j = 0; j < features; j++, i++) {
            const d = dh![i]!;
            sum += d * (e![i]! - p![i]!);
            de![i] = g * d;
            dp![i] = (1 - g) * d;
          }
          dz![gate] = g * (1 - g) * sum;
        }
      });
    },
  );
}

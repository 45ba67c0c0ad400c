/** @module */
import type * as tf from "@tensorflow/tfjs";
import { deviceCrossEntropy } from "../kernels/device_cross_entropy.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import { expNegative } from "../kernels/scalar.ts";
import { ln } from "../portable_math.ts";

/**
 * Cross-entropy −ln softmax(z)_label in nats, summed over the rows and divided by `divisor`.
 *
 * @param logits float32 [N, K].
 * @param labels N class numbers.
 * @param options.divisor N unless given: the whole batch's size where this is a part of it.
 * @returns float32 scalar.
 * @throws {RangeError} If there is not one label for each row, or one is not a class.
 */
export function crossEntropy(
  logits: tf.Tensor,
  labels: Int32Array,
  options: { divisor?: number } = {},
): tf.Scalar {
  const [n, k] = logits.shape as [number, number];
  const divisor = options.divisor ?? n;
  if (labels.length !== n) {
    throw new RangeError(`crossEntropy: labels must be [${n}], got [${labels.length}]`);
  }
  for (const label of labels) {
    if (label < 0 || label >= k) {
      throw new RangeError(
        `Cannot compare with class ${label}: the logits are of classes 0 to ${k - 1}`,
      );
    }
  }
  if (!onHost()) return deviceCrossEntropy(logits, labels, divisor);
  return differentiable<tf.Scalar>(
    [logits],
    () => {
      const call = { inputs: [logits], outputs: [[], [n, k]] };
      const [value, probabilities] = runHost("crossEntropy", call, ([z], [loss, p]) => {
        const powers = new Float64Array(k);
        let sum = 0;
        for (let row = 0; row < n; row++) {
          const at = row * k;
          let largest = -Infinity;
          for (let j = 0; j < k; j++) largest = Math.max(largest, z![at + j]!);
          let total = 0;
          for (let j = 0; j < k; j++) total += powers[j] = expNegative(z![at + j]! - largest);
          for (let j = 0; j < k; j++) p![at + j] = powers[j]! / total;
          sum += ln(total) + largest - z![at + labels[row]!]!;
        }
        loss![0] = sum / divisor;
      });
      return { value: value!, keep: [probabilities!] };
    },
    (dy, [p]) =>
      runHost("crossEntropyGradient", { inputs: [p!, dy], outputs: [[n, k]] }, ([p, dy], [dz]) => {
        const scale = dy![0]! / divisor;
        for (let i = 0; i < n * k; i++) dz![i] = p![i]! * scale;
        for (let row = 0; row < n; row++) dz![row * k + labels[row]!]! -= scale;
      }),
  );
}

/** @module */
import type * as tf from "@tensorflow/tfjs";
import { deviceCrossEntropy } from "../kernels/device_cross_entropy.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
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
      // Two doubles for each row, and the powers of one.
      const scratch = [2 * n, 2 * n, 2 * (k + 1)];
      const call = { inputs: [logits], outputs: [[], [n, k]], scratch };
      const [value, probabilities] = runHost(
        "crossEntropy",
        call,
        ([z], [loss, p], work, loops) => {
          const [tops, totals, powers] = work.map(doubles) as [Doubles, Doubles, Doubles];
          loops.probabilities(z!, k, { p: p!, tops, totals, powers });
          let sum = 0;
          for (let row = 0; row < n; row++) {
            sum += ln(totals[row]!) + tops[row]! - z![row * k + labels[row]!]!;
          }
          loss![0] = sum / divisor;
        },
      );
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

type Doubles = Float64Array;

/** Work space for numbers as space for half as many doubles. */
function doubles({ buffer, byteOffset, length }: Float32Array): Doubles {
  return new Float64Array(buffer, byteOffset, length / 2);
}

/** @module */
import * as tf from "@tensorflow/tfjs";
import { lengthsOf } from "../batch.ts";
import { gatherRows, sumRows } from "../kernels/device.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";

/**
 * Mean over each document's tokens.
 *
 * @param x float32 [N, C], the documents' tokens one after the other.
 * @param offsets B + 1 row numbers: document i has rows offsets_i to offsets_{i+1} − 1.
 * @returns float32 [B, C].
 */
export function meanPool(x: tf.Tensor, offsets: Int32Array): tf.Tensor2D {
  const [n, c] = x.shape as [number, number];
  const documents = offsets.length - 1;
  if (!onHost()) {
    const order = Int32Array.from({ length: n }, (_, row) => row);
    const document = new Int32Array(n);
    for (let d = 0; d < documents; d++) document.fill(d, offsets[d]!, offsets[d + 1]!);
    const lengths = tf.tensor2d(lengthsOf(offsets), [documents, 1], "float32");
    return differentiable<tf.Tensor2D>(
      [x],
      () => ({ value: tf.div(sumRows(x, { order, starts: offsets }), lengths), keep: [lengths] }),
      (dy, [lengths]) => [gatherRows(tf.div(dy, lengths!), document)],
    );
  }
  const forward = () =>
    runHost("meanPool", { inputs: [x], outputs: [[documents, c]] }, ([x], [y]) => {
      const sums = new Float64Array(c);
      for (let d = 0; d < documents; d++) {
        sums.fill(0);
        const start = offsets[d]!, end = offsets[d + 1]!;
        for (let i = start * c; i < end * c; i += c) {
          for (let j = 0; j < c; j++) sums[j]! += x![i + j]!;
        }
        for (let j = 0; j < c; j++) y![d * c + j] = sums[j]! / (end - start);
      }
    })[0]!;
  return differentiable<tf.Tensor2D>(
    [x],
    () => ({ value: forward(), keep: [] }),
    (dy) =>
      runHost("meanPoolGradient", { inputs: [dy], outputs: [[n, c]] }, ([dy], [dx]) => {
        for (let d = 0; d < documents; d++) {
          const start = offsets[d]!, end = offsets[d + 1]!;
          for (let i = start * c; i < end * c; i += c) {
            for (let j = 0; j < c; j++) dx![i + j] = dy![d * c + j]! / (end - start);
          }
        }
      }),
  );
}

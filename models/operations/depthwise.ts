/** @module */
import * as tf from "@tensorflow/tfjs";
import { moveRows } from "../kernels/device.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";

/**
 * Depth-wise convolution within each document: z_i = Σ_k w_k ⊙ p_{i+k}, k = −K..K, with zeros
 * outside the document.
 *
 * @param p float32 [N, C].
 * @param w float32 [2K + 1, C].
 * @param offsets B + 1 row numbers: document i has rows offsets_i to offsets_{i+1} − 1.
 * @returns float32 [N, C].
 */
export function depthwise(p: tf.Tensor, w: tf.Tensor, offsets: Int32Array): tf.Tensor2D {
  const [n, c] = p.shape as [number, number];
  const taps = w.shape[0]!, reach = (taps - 1) / 2;
  if (!onHost()) {
    return tf.addN(Array.from({ length: taps }, (_, tap) => {
      const shifted = moveRows(
        p,
        shift(offsets, tap - reach),
        shift(offsets, reach - tap),
      );
      return tf.mul(shifted, tf.slice(w, [tap, 0], [1, c]));
    })) as tf.Tensor2D;
  }
  /** Calls `visit` with the first element of z_i, of p_{i+k} and of w_k. */
  const forEachTap = (visit: (z: number, p: number, w: number) => void) => {
    for (let d = 0; d + 1 < offsets.length; d++) {
      const start = offsets[d]!, end = offsets[d + 1]!;
      for (let i = start; i < end; i++) {
        for (let k = -reach; k <= reach; k++) {
          if (i + k >= start && i + k < end) visit(i * c, (i + k) * c, (k + reach) * c);
        }
      }
    }
  };
  const forward = () =>
    runHost("depthwise", { inputs: [p, w], outputs: [[n, c]] }, ([p, w], [z]) => {
      z!.fill(0);
      forEachTap((zAt, pAt, wAt) => {
        for (let j = 0; j < c; j++) z![zAt + j]! += w![wAt + j]! * p![pAt + j]!;
      });
    })[0]!;
  return differentiable<tf.Tensor2D>(
    [p, w],
    () => ({ value: forward(), keep: [p, w] }),
    (dz, [p, w]) => {
      const call = { inputs: [p!, w!, dz], outputs: [[n, c], [taps, c]] };
      return runHost("depthwiseGradient", call, ([p, w, dz], [dp, dw]) => {
        dp!.fill(0);
        const sums = new Float64Array(taps * c);
        forEachTap((zAt, pAt, wAt) => {
          for (let j = 0; j < c; j++) {
            const d = dz![zAt + j]!;
            dp![pAt + j]! += w![wAt + j]! * d;
            sums[wAt + j]! += p![pAt + j]! * d;
          }
        });
        dw!.set(sums);
      });
    },
  );
}

/** For each row, the row `by` after it in its document; −1 if there is none. */
function shift(offsets: Int32Array, by: number): Int32Array {
  const rows = new Int32Array(offsets.at(-1)!).fill(-1);
  for (let d = 0; d + 1 < offsets.length; d++) {
    const start = offsets[d]!, end = offsets[d + 1]!;
    for (let i = start; i < end; i++) if (i + by >= start && i + by < end) rows[i] = i + by;
  }
  return rows;
}

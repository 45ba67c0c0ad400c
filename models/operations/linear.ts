/** @module */
import * as tf from "@tensorflow/tfjs";
import { differentiable, onHost, runHost } from "../kernels/host.ts";

/**
 * y = x W + b.
 *
 * @param x float32 [N, I].
 * @param w float32 [I, O].
 * @param b float32 [O], if any.
 * @returns float32 [N, O].
 * @throws {RangeError} If the shapes do not fit.
 */
export function linear(x: tf.Tensor, w: tf.Tensor, b?: tf.Tensor): tf.Tensor2D {
  const [n, i] = x.shape as [number, number];
  const o = w.shape[1]!;
  if (x.rank !== 2 || w.rank !== 2 || i !== w.shape[0] || (b !== undefined && b.size !== o)) {
    throw new RangeError(
      `linear: shapes must be [N, I], [I, O], [O], got [${x.shape}], [${w.shape}], [${b?.shape}]`,
    );
  }
  if (!onHost()) {
    const product: tf.Tensor2D = tf.matMul(x as tf.Tensor2D, w as tf.Tensor2D);
    if (b === undefined) return product;
    return tf.add<tf.Tensor2D>(product, b);
  }
  const inputs = b === undefined ? [x, w] : [x, w, b];
  return differentiable<tf.Tensor2D>(
    inputs,
    () => ({ value: forward(inputs, [n, i, o]), keep: [x, w] }),
    (dy, [x, w]) => backward([x!, w!, dy], [n, i, o]).slice(0, inputs.length),
  );
}

function forward(inputs: tf.Tensor[], [n, i, o]: [number, number, number]): tf.Tensor {
  return runHost("linear", { inputs, outputs: [[n, o]] }, ([x, w, b], [y], _, loops) => {
    if (b !== undefined) { for (let row = 0; row < n; row++) y!.set(b, row * o); }
    loops.product({ m: n, n: o, k: i, a: x!, b: w!, c: y!, accumulate: b !== undefined });
  })[0]!;
}

function backward(inputs: tf.Tensor[], [n, i, o]: [number, number, number]): tf.Tensor[] {
  const call = { inputs, outputs: [[n, i], [i, o], [o]] };
  return runHost("linearGradient", call, ([x, w, dy], [dx, dw, db], _, loops) => {
    loops.product({ m: n, n: i, k: o, a: dy!, b: w!, bRow: 1, bColumn: o, c: dx! });
    loops.product({ m: i, n: o, k: n, a: x!, aRow: 1, aColumn: i, b: dy!, c: dw! });
    db!.fill(0);
    for (let row = 0, at = 0; row < n; row++) {
      for (let j = 0; j < o; j++) db![j]! += dy![at++]!;
    }
  });
}

/** @module */
import * as tf from "@tensorflow/tfjs";
import { deviceLinear, deviceUnembed } from "../kernels/device_product.ts";
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
  if (!onHost()) return deviceLinear(x, w, b);
  const inputs = b === undefined ? [x, w] : [x, w, b];
  return differentiable<tf.Tensor2D>(
    inputs,
    () => ({ value: forward(inputs, [n, i, o]), keep: [x, w] }),
    (dy, [x, w]) => backward([x!, w!, dy], [n, i, o]).slice(0, inputs.length),
  );
}

/**
 * y = x Wᵀ: features back to rows of a table, as a language model's output layer does with the
 * embeddings it shares with its input.
 *
 * @param x float32 [N, C].
 * @param table float32 [V, C].
 * @returns float32 [N, V].
 */
export function unembed(x: tf.Tensor, table: tf.Tensor): tf.Tensor2D {
  const [n, c] = x.shape as [number, number];
  const v = table.shape[0]!;
  if (!onHost()) return deviceUnembed(x, table);
  const forward = () =>
    runHost("unembed", { inputs: [x, table], outputs: [[n, v]] }, ([x, table], [y], _, loops) => {
      loops.product({ m: n, n: v, k: c, a: x!, b: table!, bRow: 1, bColumn: c, c: y! });
    })[0]!;
  return differentiable<tf.Tensor2D>(
    [x, table],
    () => ({ value: forward(), keep: [x, table] }),
    (dy, kept) => {
      const call = { inputs: [...kept, dy], outputs: [[n, c], [v, c]] };
      return runHost("unembedGradient", call, ([x, table, dy], [dx, dTable], _, loops) => {
        loops.product({ m: n, n: c, k: v, a: dy!, b: table!, c: dx! });
        loops.product({ m: v, n: c, k: n, a: dy!, aRow: 1, aColumn: v, b: x!, c: dTable! });
      });
    },
  );
}

function forward(inputs: tf.Tensor[], [n, i, o]: [number, number, number]): tf.Tensor {
  return runHost("linear", { inputs, outputs: [[n, o]] }, ([x, w, b], [y], _, loops) => {
    if (b !== undefined) loops.fillRows(b, y!);
    loops.product({ m: n, n: o, k: i, a: x!, b: w!, c: y!, accumulate: b !== undefined });
  })[0]!;
}

function backward(inputs: tf.Tensor[], [n, i, o]: [number, number, number]): tf.Tensor[] {
  const call = { inputs, outputs: [[n, i], [i, o], [o]] };
  return runHost("linearGradient", call, ([x, w, dy], [dx, dw, db], _, loops) => {
    loops.product({ m: n, n: i, k: o, a: dy!, b: w!, bRow: 1, bColumn: o, c: dx! });
    loops.product({ m: i, n: o, k: n, a: x!, aRow: 1, aColumn: i, b: dy!, c: dw! });
    loops.sumOfRows(dy!, db!);
  });
}

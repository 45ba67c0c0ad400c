/**
 * GELU on a device, in one dispatch and one for the gradient.
 *
 * @module
 */
import type * as tf from "@tensorflow/tfjs";
import { runDevice } from "./device.ts";
import { differentiable } from "./host.ts";
import { INVERSE_ROOT_TWO_PI } from "../portable_math.ts";
import { TAIL } from "./scalar.ts";

const POLYNOMIAL = TAIL.slice(1).reduce((sum, c) => `(${sum} * t + ${c})`, String(TAIL[0]));

const GELU = `
  fn gauss_of(x : f32) -> f32 { return exp(-0.5 * x * x); }
  fn tail_of(z : f32, gauss : f32) -> f32 {
    let t = 1.0 / (1.0 + 0.25 * min(z, 6.0));
    return ${POLYNOMIAL} * t * gauss;
  }`;

/** `gelu` of the operations, with its gradient. */
export function deviceGelu(x: tf.Tensor): tf.Tensor {
  return differentiable(
    [x],
    () => ({
      value: runDevice("gelu", {
        inputs: { x },
        output: x.shape,
        functions: GELU,
        element: `
          let value = x[index];
          let z = abs(value);
          setOutputAtIndex(index, max(value, 0.0) - z * tail_of(z, gauss_of(value)));`,
      }),
      keep: [x],
    }),
    (dy, [x]) => [
      runDevice("geluGradient", {
        inputs: { x: x!, dy },
        output: x!.shape,
        functions: GELU,
        element: `
          let value = x[index];
          let gauss = gauss_of(value);
          let tail = tail_of(abs(value), gauss);
          let cdf = select(tail, 1.0 - tail, value > 0.0);
          setOutputAtIndex(index, dy[index] * (cdf + value * gauss * ${INVERSE_ROOT_TWO_PI}));`,
      }),
    ],
  );
}

/** @module */
import type * as tf from "@tensorflow/tfjs";
import { deviceLayerNorm } from "../kernels/device_layer_norm.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";

/** What PyTorch adds to the variance. */
const EPSILON = 1e-5;

/**
 * Layer normalisation over the features: (x − mean) / √(variance + 1e-5) ⊙ gain + bias.
 *
 * Ba, Kiros & Hinton 2016, eq. 4, with the biased variance, as PyTorch's `LayerNorm`.
 *
 * @param x float32 [N, C].
 * @param gain float32 [C].
 * @param bias float32 [C], if any.
 * @returns float32 [N, C].
 */
export function layerNorm(x: tf.Tensor, gain: tf.Tensor, bias?: tf.Tensor): tf.Tensor2D {
  const [n, c] = x.shape as [number, number];
  if (!onHost()) return deviceLayerNorm(x, { gain, bias, epsilon: EPSILON });
  const inputs = bias === undefined ? [x, gain] : [x, gain, bias];
  return differentiable<tf.Tensor2D>(
    inputs,
    () => {
      const [value, normed, inverse] = forward(inputs, [n, c]);
      return { value: value!, keep: [normed!, inverse!, gain] };
    },
    (dy, kept) => backward([...kept, dy], [n, c]).slice(0, inputs.length),
  );
}

function forward(inputs: tf.Tensor[], [n, c]: [number, number]): tf.Tensor[] {
  const call = { inputs, outputs: [[n, c], [n, c], [n]] };
  return runHost("layerNorm", call, ([x, gain, bias], [y, normed, inverse], _, loops) => {
    const to = { y: y!, normed: normed!, inverse: inverse! };
    loops.layerNorm({ x: x!, gain: gain!, bias, epsilon: EPSILON }, to);
  });
}

function backward(inputs: tf.Tensor[], [n, c]: [number, number]): tf.Tensor[] {
  const call = { inputs, outputs: [[n, c], [c], [c]], scratch: [4 * c] };
  return runHost("layerNormGradient", call, (arrays, [dx, dGain, dBias], [sums], loops) => {
    const [normed, inverse, gain, dy] = arrays as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    const to = { dx: dx!, dGain: dGain!, dBias: dBias!, sums: sums! };
    loops.layerNormGradient({ normed, inverse, gain, dy }, to);
  });
}

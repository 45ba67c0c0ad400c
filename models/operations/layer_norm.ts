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
  return runHost("layerNorm", call, ([x, gain, bias], [y, normed, inverse]) => {
    for (let row = 0; row < n; row++) {
      const start = row * c, end = start + c;
      let mean = 0;
      for (let i = start; i < end; i++) mean += x![i]!;
      mean /= c;
      let variance = 0;
      for (let i = start; i < end; i++) {
        const centred = x![i]! - mean;
        variance += centred * centred;
      }
      const scale = 1 / Math.sqrt(variance / c + EPSILON);
      inverse![row] = scale;
      for (let i = start, j = 0; j < c; i++, j++) {
        const value = (x![i]! - mean) * scale;
        normed![i] = value;
        y![i] = value * gain![j]! + (bias === undefined ? 0 : bias[j]!);
      }
    }
  });
}

function backward(inputs: tf.Tensor[], [n, c]: [number, number]): tf.Tensor[] {
  const call = { inputs, outputs: [[n, c], [c], [c]] };
  return runHost("layerNormGradient", call, (arrays, [dx, dGain, dBias]) => {
    const [normed, inverse, gain, dy] = arrays as [
      Float32Array,
      Float32Array,
      Float32Array,
      Float32Array,
    ];
    const gains = new Float64Array(c), biases = new Float64Array(c);
    for (let row = 0; row < n; row++) {
      const start = row * c;
      let mean = 0, along = 0;
      for (let j = 0, i = start; j < c; i++, j++) {
        const d = dy[i]!, value = normed[i]!, scaled = d * gain[j]!;
        mean += scaled;
        along += scaled * value;
        gains[j]! += d * value;
        biases[j]! += d;
      }
      mean /= c;
      along /= c;
      const scale = inverse[row]!;
      for (let j = 0, i = start; j < c; i++, j++) {
        dx![i] = (dy[i]! * gain[j]! - mean - normed[i]! * along) * scale;
      }
    }
    dGain!.set(gains);
    dBias!.set(biases);
  });
}

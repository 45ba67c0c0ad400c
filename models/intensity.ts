/**
 * Attention intensity: a factor in [low, high] for each query, predicted from its token and its
 * position, that multiplies the query's attention scores.
 *
 * "Learning to Look Harder", 2025, section 4; equation numbers are the paper's.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { IntensityConfig } from "./intensity_runs.ts";
import { relu, sigmoid } from "./operations/activation.ts";
import { embedding } from "./operations/embedding.ts";
import { layerNorm } from "./operations/layer_norm.ts";
import { linear } from "./operations/linear.ts";
import type { Initial } from "./parameters.ts";
import { parameter, type Parameters, type ParameterSpec } from "./parameters.ts";

/** Weight of the positional embedding against the content (eq. 3). */
const POSITION_WEIGHT = 0.1;

/** Sizes of the model a predictor is part of. */
export interface IntensitySizes {
  readonly d: number;
  readonly heads: number;
  readonly context: number;
  readonly initial: Initial;
}

/** A predictor's parameters, without biases like the model's. Its hidden layers have d/4 features. */
export function intensitySpecs(
  name: string,
  options: IntensitySizes & { intensity: IntensityConfig },
): ParameterSpec[] {
  const { d, heads, context, initial, intensity } = options;
  const hidden = Math.floor(d / 4);
  const matrix = (part: string, rows: number, columns: number): ParameterSpec => (
    { name: `${name}.${part}`, shape: [rows, columns], initial }
  );
  const out = matrix("out.weight", hidden, intensity.perHead ? heads : 1);
  if (!intensity.position) return [matrix("hidden.weight", d, hidden), out];
  return [
    { name: `${name}.norm.gain`, shape: [d], initial: { kind: "constant", value: 1 } },
    matrix("position", context, d),
    matrix("hidden.weight", d, hidden),
    matrix("hidden2.weight", hidden, hidden),
    out,
  ];
}

/**
 * The factors of a batch's queries.
 *
 * Without position: low + (high − low) σ(W_out relu(W₁ x)). With it, eqs. 3–7:
 * c = LayerNorm(x) + 0.1 pos; h₁ = relu(W₁ c); h₂ = relu(W₂ h₁);
 * low + (high − low) σ(W_out (h₂ + h₁)).
 *
 * @param x float32 [N, d], what the attention gets.
 * @returns float32 [N, 1] or [N, heads].
 */
export function intensities(
  x: tf.Tensor,
  parameters: Parameters,
  options: { name: string; intensity: IntensityConfig; positions: Int32Array },
): tf.Tensor {
  const { name, intensity, positions } = options;
  const { low, high } = intensity;
  const w = (part: string) => parameter(parameters, `${name}.${part}`);
  let h: tf.Tensor;
  if (intensity.position) {
    const place = embedding(w("position"), positions, { scale: POSITION_WEIGHT });
    const h1 = relu(linear(tf.add(layerNorm(x, w("norm.gain")), place), w("hidden.weight")));
    h = tf.add(h1, relu(linear(h1, w("hidden2.weight"))));
  } else {
    h = relu(linear(x, w("hidden.weight")));
  }
  const share = sigmoid(linear(h, w("out.weight")));
  return tf.add(tf.mul(share, high - low), low);
}

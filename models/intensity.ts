/**
 * Attention intensity: a factor in [low, high] for each query, predicted from its token and its
 * position, that multiplies the query's attention scores.
 *
 * "Learning to Look Harder", 2025, section 4; equation numbers are the paper's.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { hiddenLayersOf, type IntensityConfig } from "./intensity_runs.ts";
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
  const place: ParameterSpec[] = intensity.position
    ? [
      { name: `${name}.norm.gain`, shape: [d], initial: { kind: "constant", value: 1 } },
      matrix("position", context, d),
    ]
    : [];
  return [
    ...place,
    matrix("hidden.weight", d, hidden),
    ...deeper(intensity).map((part) => matrix(part, hidden, hidden)),
    matrix("out.weight", hidden, intensity.perHead ? heads : 1),
  ];
}

/** The weights of the hidden layers after the first. */
function deeper(intensity: IntensityConfig): string[] {
  return Array.from(
    { length: hiddenLayersOf(intensity) - 1 },
    (_, i) => `hidden${i + 2}.weight`,
  );
}

/**
 * The factors of a batch's queries.
 *
 * Without position: low + (high − low) σ(W_out relu(W₁ x)). With it, eqs. 3–7:
 * c = LayerNorm(x) + 0.1 pos; h₁ = relu(W₁ c); h₂ = relu(W₂ h₁);
 * low + (high − low) σ(W_out (h₂ + h₁)). Further hidden layers, where a config asks for them, have a
 * residual connection each with position, and none without.
 *
 * @param read float32 [N, d] each: what the attention gets, and what that was normalised from.
 * @returns float32 [N, 1] or [N, heads].
 */
export function intensities(
  read: { readonly normalised: tf.Tensor; readonly residual: tf.Tensor },
  parameters: Parameters,
  options: { name: string; intensity: IntensityConfig; positions: Int32Array },
): tf.Tensor {
  const { name, intensity, positions } = options;
  const { low, high, input = "normalised" } = intensity;
  const x = read[input];
  const w = (part: string) => parameter(parameters, `${name}.${part}`);
  const content = intensity.position
    ? tf.add(
      layerNorm(x, w("norm.gain")),
      embedding(w("position"), positions, { scale: POSITION_WEIGHT }),
    )
    : x;
  let h: tf.Tensor = relu(linear(content, w("hidden.weight")));
  for (const part of deeper(intensity)) {
    const next = relu(linear(h, w(part)));
    h = intensity.position ? tf.add(h, next) : next;
  }
  const share = sigmoid(linear(h, w("out.weight")));
  return tf.add(tf.mul(share, high - low), low);
}

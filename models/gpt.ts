/**
 * The character language model of "Learning to Look Harder": a pre-norm Transformer decoder with
 * learned positions, tied input and output embeddings and no biases, as in nanoGPT.
 *
 * Shapes: B sequences of T tokens lie one after the other as N = B T rows of C features.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { intensities, intensitySpecs } from "./intensity.ts";
import type { IntensityConfig } from "./intensity_runs.ts";
import { gelu } from "./operations/activation.ts";
import { attention } from "./operations/attention.ts";
import { addDropped, drop, type Dropout, weightsDropout } from "./operations/dropout.ts";
import { embedding } from "./operations/embedding.ts";
import { layerNorm } from "./operations/layer_norm.ts";
import { linear, unembed } from "./operations/linear.ts";
import { scaleQueries } from "./operations/scale_queries.ts";
import type { Initial } from "./parameters.ts";
import { parameter, type Parameters, type ParameterSpec } from "./parameters.ts";

/** What fixes a model but for its weights. */
export interface GptConfig {
  readonly vocabulary: number;
  /** Most tokens it sees, T at most. */
  readonly context: number;
  /** C. */
  readonly d: number;
  readonly heads: number;
  readonly layers: number;
  readonly intensity?: IntensityConfig | undefined;
  /** Whether the predictors are part of the model but their factors are not used. */
  readonly bypass: boolean;
}

/**
 * The model's parameters: N(0, 0.02²), those that write to the residual stream
 * N(0, 0.02² / (2 layers)), gains 1.
 */
export function gptSpecs(
  { vocabulary, context, d, heads, layers, intensity }: GptConfig,
): ParameterSpec[] {
  const initial: Initial = { kind: "normal", deviation: 0.02 };
  const residual: Initial = { kind: "normal", deviation: 0.02 / Math.sqrt(2 * layers) };
  const gain = (name: string): ParameterSpec => (
    { name, shape: [d], initial: { kind: "constant", value: 1 } }
  );
  const matrix = (name: string, shape: number[], start = initial): ParameterSpec => (
    { name, shape, initial: start }
  );
  const blocks = Array.from({ length: layers }, (_, i) => `block.${i}`).flatMap((block) => [
    gain(`${block}.norm1.gain`),
    matrix(`${block}.attention.in.weight`, [d, 3 * d]),
    matrix(`${block}.attention.out.weight`, [d, d], residual),
    ...(intensity === undefined
      ? []
      : intensitySpecs(`${block}.intensity`, { context, d, heads, initial, intensity })),
    gain(`${block}.norm2.gain`),
    matrix(`${block}.ff1.weight`, [d, 4 * d]),
    matrix(`${block}.ff2.weight`, [4 * d, d], residual),
  ]);
  return [
    matrix("embedding", [vocabulary, d]),
    matrix("position", [context, d]),
    ...blocks,
    gain("norm.gain"),
  ];
}

/** Sequences of equal length, one after the other. */
export interface Sequences {
  /** B × T token ids. */
  readonly ids: Int32Array;
  readonly length: number;
}

/**
 * The logits of each token's successor.
 *
 * @param dropout Dropout for a step of training; none in evaluation.
 * @returns float32 [N, V].
 * @throws {RangeError} If the sequences are longer than the context.
 */
export function predictNext(
  config: GptConfig,
  parameters: Parameters,
  options: { sequences: Sequences; dropout?: Dropout | undefined },
): tf.Tensor2D {
  const { ids, length } = options.sequences;
  const { dropout } = options;
  if (length > config.context || ids.length % length !== 0) {
    throw new RangeError(
      `Cannot predict: sequences must have at most ${config.context} tokens and equal lengths, ` +
        `found ${ids.length} tokens in sequences of ${length}`,
    );
  }
  const positions = Int32Array.from({ length: ids.length }, (_, i) => i % length);
  const offsets = Int32Array.from({ length: ids.length / length + 1 }, (_, i) => i * length);
  const tokens = embedding(parameter(parameters, "embedding"), ids);
  const places = embedding(parameter(parameters, "position"), positions);
  let x = drop(tf.add(tokens, places), dropout, { use: "embedding" }); // [N, C]
  for (let i = 0; i < config.layers; i++) {
    const block = { config, block: `block.${i}`, positions, offsets, dropout };
    x = decoderBlock(x, parameters, block);
  }
  const y = layerNorm(x, parameter(parameters, "norm.gain"));
  return unembed(y, parameter(parameters, "embedding"));
}

/** One pre-norm block: x ← x + attention(norm₁(x)); x ← x + W₂ gelu(W₁ norm₂(x)). */
export function decoderBlock(
  x: tf.Tensor,
  parameters: Parameters,
  options: {
    config: GptConfig;
    block: string;
    positions: Int32Array;
    offsets: Int32Array;
    dropout: Dropout | undefined;
  },
): tf.Tensor {
  const { config, block, offsets, dropout } = options;
  const w = (name: string) => parameter(parameters, `${block}.${name}`);
  const qkv = queries(
    { residual: x, normalised: layerNorm(x, w("norm1.gain")) },
    parameters,
    options,
  ); // [N, 3C]
  const mixed = attention(qkv, {
    offsets,
    heads: config.heads,
    causal: true,
    dropout: dropout && weightsDropout(dropout, `${block}.weights`),
  });
  const attended = linear(mixed, w("attention.out.weight"));
  const y = addDropped(x, attended, dropout, { use: `${block}.attention` });
  const hidden = gelu(linear(layerNorm(y, w("norm2.gain")), w("ff1.weight"))); // [N, 4C]
  const fed = linear(hidden, w("ff2.weight"));
  return addDropped(y, fed, dropout, { use: `${block}.ff` });
}

/**
 * Queries, keys and values of a block's normalised input, the queries scaled by their intensity:
 * (I ⊙ QKᵀ) = (diag(intensity) Q) Kᵀ, since I[i, j] depends on i alone (eqs. 1 and 8).
 */
export function queries(
  input: { readonly normalised: tf.Tensor; readonly residual: tf.Tensor },
  parameters: Parameters,
  options: { config: GptConfig; block: string; positions: Int32Array },
): tf.Tensor2D {
  const { config: { intensity, bypass }, block, positions } = options;
  const qkv = linear(input.normalised, parameter(parameters, `${block}.attention.in.weight`));
  if (intensity === undefined || bypass) return qkv;
  const name = `${block}.intensity`;
  return scaleQueries(qkv, intensities(input, parameters, { name, intensity, positions }));
}

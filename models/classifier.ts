/**
 * The classifier of "Fusion Matters": token embeddings fused with positional encodings, a post-norm
 * Transformer encoder, the mean over tokens, a linear layer.
 *
 * Hallam & Tseng 2026, section 3; encoder blocks as in PyTorch's `TransformerEncoderLayer`. Shapes:
 * B documents of N tokens in all, C features, F hidden features, K classes.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { Batch } from "./batch.ts";
import { fuse, type Fused, fusionSpecs } from "./fusion.ts";
import {
  type EmbeddingScale,
  type Encoding,
  entersAttention,
  type Fusion,
  type GateReduce,
} from "./names.ts";
import { activate, type Activation } from "./operations/activation.ts";
import { attention } from "./operations/attention.ts";
import { addDropped, drop, type Dropout, weightsDropout } from "./operations/dropout.ts";
import { embedding } from "./operations/embedding.ts";
import { layerNorm } from "./operations/layer_norm.ts";
import { linear } from "./operations/linear.ts";
import { meanPool } from "./operations/pooling.ts";
import { rotary } from "./operations/rotary.ts";
import { linearSpecs, parameter, type Parameters, type ParameterSpec } from "./parameters.ts";
import { positionSpecs, positionTable } from "./positions.ts";

/** What fixes a classifier but for its weights. */
export interface ClassifierConfig {
  readonly fusion: Fusion;
  /** See {@linkcode FusionConfig}; of no effect but for `gate_cnn`. */
  readonly gateTaps: number;
  readonly gateReduce: GateReduce;
  /** See {@linkcode FusionConfig}. */
  readonly concatBias?: boolean;
  /** What token embeddings are multiplied with; √d if left out. */
  readonly embeddingScale?: EmbeddingScale;
  readonly encoding: Encoding;
  /** Distance from which on positions are the same to `relative_attention`. */
  readonly maxDistance: number;
  readonly vocabulary: number;
  readonly maxLength: number;
  readonly classes: number;
  /** C. */
  readonly d: number;
  readonly heads: number;
  readonly layers: number;
  /** F. */
  readonly dFf: number;
  readonly activation: Activation;
}

/** What makes a classifier and its documents large or small, by the names of stages' params. */
export function sizeOf(config: ClassifierConfig): Record<string, number> {
  return {
    d_model: config.d,
    heads: config.heads,
    layers: config.layers,
    d_ff: config.dFf,
    max_length: config.maxLength,
  };
}

/** The id of padding: its embedding is 0 and takes no gradient. */
const PADDING = 0;

/** The classifier's parameters, with PyTorch's default initialisations. */
export function classifierSpecs(config: ClassifierConfig): ParameterSpec[] {
  const { d, dFf, encoding, layers, vocabulary, maxLength, classes } = config;
  const norm = (name: string): ParameterSpec[] => [
    { name: `${name}.gain`, shape: [d], initial: { kind: "constant", value: 1 } },
    { name: `${name}.bias`, shape: [d], initial: { kind: "constant", value: 0 } },
  ];
  const zeros = (name: string, n: number): ParameterSpec => (
    { name, shape: [n], initial: { kind: "constant", value: 0 } }
  );
  const blocks = Array.from({ length: layers }, (_, i) => `encoder.${i}`).flatMap((block) => [
    // Glorot's bound for a [C, 3C] matrix.
    {
      name: `${block}.attention.in.weight`,
      shape: [d, 3 * d],
      initial: { kind: "uniform", bound: Math.sqrt(6 / (4 * d)) } as const,
    },
    zeros(`${block}.attention.in.bias`, 3 * d),
    ...relativeSpecs(block, config),
    linearSpecs(`${block}.attention.out`, d, d)[0]!,
    zeros(`${block}.attention.out.bias`, d),
    ...norm(`${block}.norm1`),
    ...linearSpecs(`${block}.ff1`, d, dFf),
    ...linearSpecs(`${block}.ff2`, dFf, d),
    ...norm(`${block}.norm2`),
  ]);
  return [
    {
      name: "embedding",
      shape: [vocabulary, d],
      initial: { kind: "normal", deviation: 1, zeroRow: PADDING },
    },
    ...positionSpecs(encoding, { length: maxLength, d }),
    ...(entersAttention(encoding) ? [] : fusionSpecs(config)),
    ...blocks,
    ...linearSpecs("classifier", d, classes),
  ];
}

/** The embeddings of distances that a block adds to keys and to values, [2K + 1, D] each. */
function relativeSpecs(block: string, config: ClassifierConfig): ParameterSpec[] {
  if (config.encoding !== "relative_attention") return [];
  const shape = [2 * config.maxDistance + 1, config.d / config.heads];
  const bound = Math.sqrt(6 / (shape[0]! + shape[1]!)); // Glorot's
  return ["keys", "values"].map((part) => ({
    name: `${block}.relative.${part}`,
    shape,
    initial: { kind: "uniform", bound },
  }));
}

/** A classifier's outputs for a batch. */
export interface Classified {
  /** float32 [B, K]. */
  readonly logits: tf.Tensor2D;
  /** A gate's values before the sigmoid, [N, 1] or [N, C]. */
  readonly gate?: tf.Tensor;
}

/**
 * Classifies a batch.
 *
 * @param dropout Dropout for a step of training; none in evaluation.
 */
export function classify(
  config: ClassifierConfig,
  parameters: Parameters,
  options: { batch: Batch; dropout?: Dropout },
): Classified {
  const { batch, dropout } = options;
  const e = embedding(parameter(parameters, "embedding"), batch.ids, {
    scale: config.embeddingScale === "one" ? 1 : Math.sqrt(config.d),
    padding: PADDING,
  }); // [N, C]
  const p = positionTable(config.encoding, parameters, { positions: batch.positions, d: config.d }); // [N, C]
  const fused: Fused = p === undefined
    ? { h: e }
    : fuse(config, { e, p, offsets: batch.offsets }, parameters);
  let x = fused.h;
  for (let i = 0; i < config.layers; i++) {
    x = encoderBlock(x, parameters, { config, block: `encoder.${i}`, ...options });
  }
  const pooled = drop(meanPool(x, batch.offsets), dropout, {
    use: "classifier",
    rows: "documents",
  }); // [B, C]
  const logits = linear(
    pooled,
    parameter(parameters, "classifier.weight"),
    parameter(parameters, "classifier.bias"),
  );
  return { logits, ...(fused.gate === undefined ? {} : { gate: fused.gate }) };
}

/** One post-norm block: x ← norm₁(x + attention(x)); x ← norm₂(x + W₂ activation(W₁ x)). */
function encoderBlock(
  x: tf.Tensor,
  parameters: Parameters,
  options: { config: ClassifierConfig; block: string; batch: Batch; dropout?: Dropout },
): tf.Tensor {
  const { config, block, batch, dropout } = options;
  const w = (name: string) => parameter(parameters, `${block}.${name}`);
  const { heads, encoding } = config;
  let qkv = linear(x, w("attention.in.weight"), w("attention.in.bias")); // [N, 3C]
  if (encoding === "rope_attention") qkv = rotary(qkv, { positions: batch.positions, heads });
  const mixed = attention(qkv, {
    offsets: batch.offsets,
    heads,
    dropout: dropout && weightsDropout(dropout, `${block}.weights`),
    relative: encoding === "relative_attention"
      ? { keys: w("relative.keys"), values: w("relative.values") }
      : undefined,
  }); // [N, C]
  const attended = linear(mixed, w("attention.out.weight"), w("attention.out.bias"));
  const y = layerNorm(
    addDropped(x, attended, dropout, { use: `${block}.attention` }),
    w("norm1.gain"),
    w("norm1.bias"),
  );
  const hidden = activate(linear(y, w("ff1.weight"), w("ff1.bias")), config.activation); // [N, F]
  const fed = linear(
    drop(hidden, dropout, { use: `${block}.hidden` }),
    w("ff2.weight"),
    w("ff2.bias"),
  );
  return layerNorm(
    addDropped(y, fed, dropout, { use: `${block}.ff` }),
    w("norm2.gain"),
    w("norm2.bias"),
  );
}

/**
 * Generating text with a language model, token by token.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { type GptConfig, predictNext, queries } from "./gpt.ts";
import { expNegative } from "./kernels/scalar.ts";
import { gelu } from "./operations/activation.ts";
import { embedding } from "./operations/embedding.ts";
import { layerNorm } from "./operations/layer_norm.ts";
import { linear, unembed } from "./operations/linear.ts";
import { parameter, type Parameters } from "./parameters.ts";
import { streamKey, words } from "./random.ts";
import { readTensor } from "./webgpu.ts";

/** How to generate. */
export interface GenerationOptions {
  readonly config: GptConfig;
  /** At least one token to start from. */
  readonly prompt: readonly number[];
  /** Tokens to add. */
  readonly tokens: number;
  readonly temperature: number;
  /** How many of the likeliest tokens may be drawn. */
  readonly topK: number;
  readonly seed: number;
  /** Names the stream of draws: `generate/sample.0`. */
  readonly name: string;
  /**
   * Whether keys and values of earlier tokens are kept. Once the text is longer than the context,
   * every token's position changes and nothing kept can be used: each token is then computed from
   * the whole context, as without a cache.
   */
  readonly cache: boolean;
}

/** The prompt and the tokens drawn after it. */
export async function generate(
  parameters: Parameters,
  options: GenerationOptions,
): Promise<number[]> {
  const { config, tokens, seed, name } = options;
  const text = [...options.prompt];
  const draws = words(streamKey(seed, name), tokens);
  const kept = options.cache ? new KeyValueCache() : undefined;
  for (const draw of draws) {
    const logits = tf.tidy(() =>
      kept !== undefined && text.length <= config.context
        ? stepLogits(config, parameters, { text, kept })
        : lastLogits(config, parameters, text.slice(-config.context))
    );
    text.push(sample(await readTensor(logits), { ...options, draw }));
    logits.dispose();
  }
  kept?.dispose();
  return text;
}

/**
 * Draws from softmax(logits / temperature) restricted to the `topK` largest (and those equal to the
 * last of them), by the inverse of the distribution function at (draw + ½) / 2³².
 */
export function sample(
  logits: ArrayLike<number>,
  options: { temperature: number; topK: number; draw: number },
): number {
  const { temperature, topK, draw } = options;
  const sorted = Float32Array.from(logits).sort();
  const least = sorted[Math.max(0, sorted.length - topK)]!;
  const largest = sorted[sorted.length - 1]!;
  const weights = Array.from(
    logits,
    (z) => z < least ? 0 : expNegative((z - largest) / temperature),
  );
  let rest = (draw + 0.5) * 2 ** -32 * weights.reduce((sum, weight) => sum + weight, 0);
  let last = 0;
  for (let i = 0; i < weights.length; i++) {
    if (weights[i] === 0) continue;
    last = i;
    rest -= weights[i]!;
    if (rest < 0) break;
  }
  return last;
}

/** Logits after the last token of `ids`, [1, V], computed from all of them. */
function lastLogits(config: GptConfig, parameters: Parameters, ids: number[]): tf.Tensor {
  const sequences = { ids: Int32Array.from(ids), length: ids.length };
  const logits = predictNext(config, parameters, { sequences });
  return tf.slice(logits, [ids.length - 1, 0], [1, config.vocabulary]);
}

/** Keys and values of the tokens seen so far, per block: [heads, t, D]. */
class KeyValueCache {
  readonly blocks: { keys: tf.Tensor3D; values: tf.Tensor3D }[] = [];
  /** Tokens held. */
  length = 0;

  /** Adds those of the next token, [heads, 1, D]. */
  extend(block: number, keys: tf.Tensor3D, values: tf.Tensor3D) {
    const held = this.blocks[block];
    const grown = held === undefined
      ? { keys: tf.keep(tf.clone(keys)), values: tf.keep(tf.clone(values)) }
      : {
        keys: tf.keep(tf.concat([held.keys, keys], 1)),
        values: tf.keep(tf.concat([held.values, values], 1)),
      };
    held?.keys.dispose();
    held?.values.dispose();
    this.blocks[block] = grown;
    return grown;
  }

  dispose(): void {
    for (const { keys, values } of this.blocks) keys.dispose(), values.dispose();
  }
}

/** As {@linkcode lastLogits}, computing only the tokens the cache does not hold. */
function stepLogits(
  config: GptConfig,
  parameters: Parameters,
  { text, kept }: { text: number[]; kept: KeyValueCache },
): tf.Tensor {
  let logits: tf.Tensor | undefined;
  while (kept.length < text.length) {
    logits = nextLogits(config, parameters, { token: text[kept.length]!, kept });
  }
  return logits!;
}

/** Logits after one more token, [1, V]. */
function nextLogits(
  config: GptConfig,
  parameters: Parameters,
  { token, kept }: { token: number; kept: KeyValueCache },
): tf.Tensor {
  const positions = Int32Array.of(kept.length++);
  let x: tf.Tensor = tf.add(
    embedding(parameter(parameters, "embedding"), Int32Array.of(token)),
    embedding(parameter(parameters, "position"), positions),
  ); // [1, C]
  const d = config.d / config.heads;
  for (let i = 0; i < config.layers; i++) {
    const block = `block.${i}`;
    const w = (name: string) => parameter(parameters, `${block}.${name}`);
    const input = { residual: x, normalised: layerNorm(x, w("norm1.gain")) };
    const qkv = queries(input, parameters, { config, block, positions });
    const [q, k, v] = tf.split(tf.reshape(qkv, [3, config.heads, 1, d]), 3).map((part) =>
      tf.reshape(part, [config.heads, 1, d])
    ) as [tf.Tensor3D, tf.Tensor3D, tf.Tensor3D];
    const { keys, values } = kept.extend(i, k, v);
    const scores = tf.mul(tf.sum(tf.mul(keys, q), 2, true), 1 / Math.sqrt(d)); // [H, t, 1]
    const weights = tf.exp(tf.sub(scores, tf.max(scores, 1, true)));
    const mixed = tf.div(
      tf.sum(tf.mul(values, weights), 1, true),
      tf.sum(weights, 1, true),
    ); // [H, 1, D]
    const y = tf.add(x, linear(tf.reshape(mixed, [1, config.d]), w("attention.out.weight")));
    const hidden = gelu(linear(layerNorm(y, w("norm2.gain")), w("ff1.weight")));
    x = tf.add(y, linear(hidden, w("ff2.weight")));
  }
  return unembed(
    layerNorm(x, parameter(parameters, "norm.gain")),
    parameter(parameters, "embedding"),
  );
}

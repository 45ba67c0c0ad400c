/**
 * What the intensity predictors of a trained language model say, by block, head and position.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { decoderBlock, type GptConfig, type Sequences } from "./gpt.ts";
import { intensities } from "./intensity.ts";
import { embedding } from "./operations/embedding.ts";
import { layerNorm } from "./operations/layer_norm.ts";
import { parameter, type Parameters } from "./parameters.ts";
import { readTensor } from "./webgpu.ts";

/**
 * The factors of every query, one tensor for each block; none for a model without predictors.
 *
 * With `bypass` they are what the predictors say, though the model does not use it.
 *
 * @returns float32 [N, 1] or [N, heads]; the caller disposes.
 */
export function blockIntensities(
  config: GptConfig,
  parameters: Parameters,
  { ids, length }: Sequences,
): tf.Tensor[] {
  const { intensity } = config;
  if (intensity === undefined) return [];
  return tf.tidy(() => {
    const positions = Int32Array.from({ length: ids.length }, (_, i) => i % length);
    const offsets = Int32Array.from({ length: ids.length / length + 1 }, (_, i) => i * length);
    let x: tf.Tensor = tf.add(
      embedding(parameter(parameters, "embedding"), ids),
      embedding(parameter(parameters, "position"), positions),
    ); // [N, C]
    return Array.from({ length: config.layers }, (_, i) => {
      const block = `block.${i}`;
      const normalised = layerNorm(x, parameter(parameters, `${block}.norm1.gain`));
      const name = `${block}.intensity`;
      const read = { residual: x, normalised };
      const factors = intensities(read, parameters, { name, intensity, positions });
      x = decoderBlock(x, parameters, { config, block, positions, offsets, dropout: undefined });
      return factors;
    });
  });
}

/** Mean factor at each position of one block's head; of all heads where they share it. */
export interface HeadProfile {
  /** From 0. */
  readonly block: number;
  /** From 0; null where a block's heads share one factor. */
  readonly head: number | null;
  readonly byPosition: readonly number[];
}

/**
 * Means of the factors over sequences of equal length, by block, head and position.
 *
 * @param options.batches Sequences of `options.length` tokens.
 */
export async function intensityProfiles(
  parameters: Parameters,
  options: { config: GptConfig; length: number; batches: Iterable<Sequences> },
): Promise<HeadProfile[]> {
  const { config, length } = options;
  if (config.intensity === undefined) return [];
  const heads = config.intensity.perHead ? config.heads : 1;
  const sums = Array.from({ length: config.layers }, () => new Float64Array(length * heads));
  let sequences = 0;
  for (const batch of options.batches) {
    if (batch.length !== length) {
      throw new RangeError(
        `Cannot average intensities: sequences must have ${length} tokens, found ${batch.length}`,
      );
    }
    sequences += batch.ids.length / length;
    const factors = blockIntensities(config, parameters, batch);
    const read = await Promise.all(factors.map(readTensor)); // of each block [N, heads]
    tf.dispose(factors);
    for (const [block, values] of read.entries()) {
      const sum = sums[block]!;
      for (let i = 0; i < values.length; i++) sum[i % sum.length]! += values[i]!;
    }
  }
  return sums.flatMap((sum, block) =>
    Array.from({ length: heads }, (_, head) => ({
      block,
      head: config.intensity!.perHead ? head : null,
      byPosition: Array.from({ length }, (_, t) => sum[t * heads + head]! / sequences),
    }))
  );
}

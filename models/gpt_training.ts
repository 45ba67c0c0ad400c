/**
 * One step of training a language model, and measuring one.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { type GptConfig, predictNext, type Sequences } from "./gpt.ts";
import { crossEntropy } from "./operations/cross_entropy.ts";
import { type Dropout, dropoutAt } from "./operations/dropout.ts";
import { clipByNorm, type Moments, type OptimizerOptions, optimizerStep } from "./optimizer.ts";
import type { Parameters } from "./parameters.ts";
import { integers, streamKey } from "./random.ts";
import { MAX_UNREAD, readScalars } from "./webgpu.ts";

/** Sequences and, for each token, the token that follows it. */
export interface Excerpts {
  readonly sequences: Sequences;
  readonly next: Int32Array;
}

/**
 * `count` excerpts of `length` tokens at random places of a text, drawn by the stream `name`.
 *
 * @throws {RangeError} If the text has no `length + 1` tokens.
 */
export function excerpts(
  text: ArrayLike<number>,
  options: { count: number; length: number; seed: number; name: string },
): Excerpts {
  const { count, length, seed, name } = options;
  if (text.length <= length) {
    throw new RangeError(
      `Cannot draw excerpts: the text must have more than ${length} tokens, found ${text.length}`,
    );
  }
  const ids = new Int32Array(count * length), next = new Int32Array(count * length);
  integers(streamKey(seed, name), count, text.length - length).forEach((start, i) => {
    for (let t = 0; t < length; t++) {
      ids[i * length + t] = text[start + t]!;
      next[i * length + t] = text[start + t + 1]!;
    }
  });
  return { sequences: { ids, length }, next };
}

/** What one step needs besides the parameters. */
export interface GptStep {
  readonly config: GptConfig;
  readonly excerpts: Excerpts;
  readonly seed: number;
  /** Number of this step, from 1. */
  readonly step: number;
  readonly dropoutRate: number;
  readonly optimizer: OptimizerOptions;
  readonly moments: ReadonlyMap<string, Moments>;
  readonly clipNorm?: number | undefined;
  /**
   * Most tokens to hold in memory at once, but a sequence at least: a larger batch's gradient is
   * summed in pieces. All, unless given.
   */
  readonly chunkTokens?: number;
}

/**
 * Changes the parameters by one step; gives the batch's mean loss in nats per token, to be
 * disposed. Parameters the loss does not depend on, as under `bypass`, stay as they are.
 */
export function gptStep(parameters: Parameters, options: GptStep): tf.Scalar {
  const parts = pieces(options.excerpts, options.chunkTokens);
  const result = tf.tidy(() => {
    let loss: tf.Scalar | undefined;
    const gradients = new Map<string, tf.Tensor>();
    const before = { tokens: 0, documents: 0 };
    for (const excerpts of parts) {
      const part = gptGradients(parameters, {
        config: options.config,
        excerpts,
        divisor: options.excerpts.next.length,
        dropout: dropoutAt(options.dropoutRate, { ...options, before: { ...before } }),
      });
      before.tokens += excerpts.next.length;
      before.documents += excerpts.next.length / excerpts.sequences.length;
      loss = loss === undefined ? part.loss : tf.add(loss, part.loss);
      for (const [name, gradient] of part.gradients) {
        const held = gradients.get(name);
        gradients.set(name, held === undefined ? gradient : tf.add(held, gradient));
        if (held !== undefined) held.dispose(), gradient.dispose();
      }
    }
    return { loss: loss!, gradients: Object.fromEntries(gradients) };
  });
  const gradients = new Map(Object.entries(result.gradients));
  if (options.clipNorm !== undefined) clipByNorm(gradients, options.clipNorm);
  optimizerStep(parameters, gradients, { ...options.optimizer, ...options });
  for (const gradient of gradients.values()) gradient.dispose();
  return result.loss;
}

/** Loss summed over the tokens, over `divisor`, and its gradient for the parameters used, by name. */
export function gptGradients(
  parameters: Parameters,
  options: {
    config: GptConfig;
    excerpts: Excerpts;
    divisor: number;
    dropout?: Dropout | undefined;
  },
): { loss: tf.Scalar; gradients: Map<string, tf.Tensor> } {
  const { config, excerpts: { sequences, next }, divisor, dropout } = options;
  const used = [...parameters].filter(([name]) => !config.bypass || !name.includes(".intensity."));
  const { value, grads } = tf.variableGrads(
    () => crossEntropy(predictNext(config, parameters, { sequences, dropout }), next, { divisor }),
    used.map(([, variable]) => variable),
  );
  const named = used.map(([name, p]) => [name, grads[p.name]!] as const);
  return { loss: value, gradients: new Map(named) };
}

/** Mean loss in nats per token over batches of equal size, without dropout. */
export async function meanLoss(
  parameters: Parameters,
  options: { config: GptConfig; batches: Iterable<Excerpts>; chunkTokens?: number },
): Promise<number> {
  let sum = 0, tokens = 0;
  const unread: tf.Scalar[] = [];
  const read = async () => {
    for (const loss of await readScalars(unread)) sum += loss;
    tf.dispose(unread.splice(0));
  };
  for (const batch of options.batches) {
    tokens += batch.next.length;
    for (const { sequences, next } of pieces(batch, options.chunkTokens)) {
      unread.push(tf.tidy(() => {
        const logits = predictNext(options.config, parameters, { sequences });
        return crossEntropy(logits, next, { divisor: 1 });
      }));
      if (unread.length === MAX_UNREAD) await read();
    }
  }
  if (unread.length > 0) await read();
  return sum / tokens;
}

/** How many sequences of `length` tokens are held in memory at once. */
export function sequencesAtOnce(chunkTokens: number, length: number): number {
  return Math.max(1, Math.floor(chunkTokens / length));
}

/** A batch in pieces. */
function pieces(
  { sequences: { ids, length }, next }: Excerpts,
  chunkTokens = ids.length,
): Excerpts[] {
  const step = sequencesAtOnce(chunkTokens, length) * length;
  return Array.from({ length: Math.ceil(ids.length / step) }, (_, i) => ({
    sequences: { ids: ids.subarray(i * step, (i + 1) * step), length },
    next: next.subarray(i * step, (i + 1) * step),
  }));
}

/**
 * One step of training a classifier, and measuring one.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { type Batch, chunks, type Documents, packBatch, tokensOf } from "./batch.ts";
import { type ClassifierConfig, classify } from "./classifier.ts";
import { logistic } from "./kernels/scalar.ts";
import { crossEntropy } from "./operations/cross_entropy.ts";
import { type Before, dropoutAt } from "./operations/dropout.ts";
import { clipByNorm, type Moments, type OptimizerOptions, optimizerStep } from "./optimizer.ts";
import type { Parameters } from "./parameters.ts";
import { readTensor } from "./webgpu.ts";

/** What one step needs besides the parameters. */
export interface StepOptions {
  readonly config: ClassifierConfig;
  readonly documents: Documents;
  /** The batch: document numbers. */
  readonly chosen: ArrayLike<number>;
  readonly seed: number;
  /** Number of this step, from 1. */
  readonly step: number;
  readonly dropoutRate: number;
  readonly optimizer: OptimizerOptions;
  readonly moments: ReadonlyMap<string, Moments>;
  /** Norm to clip the gradient to, if any. */
  readonly clipNorm?: number | undefined;
  /** Most tokens to hold in memory at once: a larger batch's gradient is summed in pieces. */
  readonly chunkTokens: number;
}

/** Changes the parameters by one step; gives the batch's mean loss in nats, to be disposed. */
export function trainStep(parameters: Parameters, options: StepOptions): tf.Scalar {
  const { chosen } = options;
  const pieces = chunks(options.documents, chosen, options.chunkTokens);
  const { loss, gradients } = tf.tidy(() => {
    let loss: tf.Scalar | undefined;
    let gradients: Map<string, tf.Tensor> | undefined;
    const before = { tokens: 0, documents: 0 };
    for (const piece of pieces) {
      const part = lossGradients(parameters, {
        ...options,
        piece,
        divisor: chosen.length,
        before: { ...before },
      });
      before.tokens += tokensOf(options.documents, piece);
      before.documents += piece.length;
      loss = loss === undefined ? part.loss : tf.add(loss, part.loss);
      if (gradients === undefined) {
        gradients = part.gradients;
        continue;
      }
      for (const [name, gradient] of gradients) {
        const more = part.gradients.get(name)!;
        gradients.set(name, tf.add(gradient, more));
        gradient.dispose();
        more.dispose();
      }
    }
    return { loss: loss!, gradients: Object.fromEntries(gradients!) };
  });
  const all = new Map(Object.entries(gradients));
  if (options.clipNorm !== undefined) clipByNorm(all, options.clipNorm);
  optimizerStep(parameters, all, { ...options.optimizer, ...options });
  for (const gradient of all.values()) gradient.dispose();
  return loss;
}

/** Loss of some documents, over `divisor`, and its gradient for every parameter by name. */
export function lossGradients(
  parameters: Parameters,
  options: {
    config: ClassifierConfig;
    documents: Documents;
    piece: ArrayLike<number>;
    divisor: number;
    seed: number;
    step: number;
    dropoutRate: number;
    /** What comes before the piece in its batch. */
    before?: Before;
  },
): { loss: tf.Scalar; gradients: Map<string, tf.Tensor> } {
  const batch = packBatch(options.documents, options.piece);
  const dropout = dropoutAt(options.dropoutRate, options);
  const { value, grads } = tf.variableGrads(() => {
    const { logits } = classify(options.config, parameters, { batch, dropout });
    return crossEntropy(logits, batch.labels, { divisor: options.divisor });
  }, [...parameters.values()]);
  const named = [...parameters].map(([name, p]) => [name, grads[p.name]!] as const);
  return { loss: value, gradients: new Map(named) };
}

/** How a classifier does on some documents. */
export interface Measured {
  readonly documents: number;
  readonly correct: number;
  /** Mean cross-entropy. */
  readonly lossNats: number;
  /** Class numbers, in the order of the documents. */
  readonly predictions: Int32Array;
  /** A gate's mean value at each position, if the fusion operator has a gate. */
  readonly gateByPosition?: number[];
}

/** Pieces whose results, gates of all tokens among them, are read at once. */
const READ_AT_ONCE = 8;

/** Classifies documents without dropout. Ties go to the lower class. */
export async function measure(
  parameters: Parameters,
  options: {
    config: ClassifierConfig;
    documents: Documents;
    chosen: ArrayLike<number>;
    chunkTokens: number;
  },
): Promise<Measured> {
  const { config, documents, chosen } = options;
  const predictions = new Int32Array(chosen.length);
  let correct = 0, loss = 0, done = 0;
  const gates: { sums: number[]; counts: number[] } = { sums: [], counts: [] };
  const unread: { batch: Batch; results: tf.Tensor[] }[] = [];
  const read = async () => {
    const values = await Promise.all(
      unread.map(({ results }) => Promise.all(results.map(readTensor))),
    );
    for (const [i, { batch, results }] of unread.entries()) {
      const [logits, sum, gate] = values[i]!;
      tf.dispose(results);
      loss += sum![0]!;
      for (let row = 0; row < batch.labels.length; row++, done++) {
        const start = row * config.classes;
        let best = 0;
        for (let j = 1; j < config.classes; j++) {
          if (logits![start + j]! > logits![start + best]!) best = j;
        }
        predictions[done] = best;
        if (best === batch.labels[row]) correct++;
      }
      if (gate !== undefined) addGates(gates, gate, batch.positions);
    }
    unread.length = 0;
  };
  for (const piece of chunks(documents, chosen, options.chunkTokens)) {
    const batch = packBatch(documents, piece);
    const results = tf.tidy(() => {
      const { logits, gate } = classify(config, parameters, { batch });
      const loss = crossEntropy(logits, batch.labels, { divisor: 1 });
      return gate === undefined ? [logits, loss] : [logits, loss, gate];
    });
    unread.push({ batch, results });
    if (unread.length === READ_AT_ONCE) await read();
  }
  await read();
  return {
    documents: chosen.length,
    correct,
    lossNats: loss / chosen.length,
    predictions,
    ...(gates.sums.length === 0
      ? {}
      : { gateByPosition: gates.sums.map((sum, t) => sum / gates.counts[t]!) }),
  };
}

/** Adds each token's gate, its mean over features if it has several, to its position's sum. */
function addGates(
  gates: { sums: number[]; counts: number[] },
  values: ArrayLike<number>,
  positions: Int32Array,
): void {
  const features = values.length / positions.length;
  for (let i = 0; i < positions.length; i++) {
    const t = positions[i]!;
    while (gates.sums.length <= t) gates.sums.push(0), gates.counts.push(0);
    let sum = 0;
    for (let j = 0; j < features; j++) sum += logistic(values[i * features + j]!);
    gates.sums[t]! += sum / features;
    gates.counts[t]!++;
  }
}

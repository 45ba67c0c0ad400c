/**
 * How long a training step takes on the current backend.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { AveragingNetwork } from "../models/averaging.ts";
import type { ClassifierConfig } from "../models/classifier.ts";
import { classifierSpecs } from "../models/classifier.ts";
import { type GptConfig, gptSpecs } from "../models/gpt.ts";
import { gptStep } from "../models/gpt_training.ts";
import { RUNS } from "../models/intensity_runs.ts";
import { zeroMoments } from "../models/optimizer.ts";
import { disposeParameters, initialParameters, type ParameterSpec } from "../models/parameters.ts";
import { integers, streamKey } from "../models/random.ts";
import { trainStep } from "../models/training.ts";
import { readTensor } from "../models/webgpu.ts";
import type { Training } from "./training.ts";

/** What one step takes. */
export interface StepTime {
  readonly model: Training["model"];
  readonly tokensPerSecond: number;
  /** Of a whole batch. */
  readonly seconds: number;
  readonly batch: number;
  /** Documents, or sequences, that were computed; the rest of the batch is taken to go as fast. */
  readonly measured: number;
}

/** Runs one step of so many documents. */
type Step = (documents: number) => Promise<void>;

/** Measures a step with as much of its batch as there is time for, one document at least. */
export async function measureStep(training: Training, forSeconds: number): Promise<StepTime> {
  const { batch, tokens, model } = training;
  const { step, end } = STEPS[model](training);
  const timed = async (documents: number) => {
    const begun = performance.now();
    await step(documents);
    return (performance.now() - begun) / 1000;
  };
  const begun = performance.now();
  // The first compiles.
  await timed(1);
  let measured = 1, seconds = await timed(1);
  const left = forSeconds - (performance.now() - begun) / 1000;
  const more = Math.min(batch, Math.floor(left / 3 / seconds));
  if (more > 1) {
    measured = more;
    await timed(more);
    seconds = await timed(more);
  }
  end();
  return {
    ...{ model, batch, measured },
    seconds: seconds * batch / measured,
    tokensPerSecond: measured * tokens / seconds,
  };
}

const STEPS: Readonly<Record<Training["model"], (t: Training) => { step: Step; end(): void }>> = {
  classifier: (t) => {
    const p = t.params as Readonly<Record<string, number>>;
    const config = {
      ...{ fusion: p["fusion"], encoding: p["encoding"], activation: p["activation"] },
      ...{ gateTaps: p["gate_taps"], gateReduce: p["gate_reduce"], maxDistance: p["max_distance"] },
      ...{ vocabulary: t.vocabulary, maxLength: t.tokens, classes: t.classes },
      ...{ d: p["d_model"], heads: p["heads"], layers: p["layers"], dFf: p["d_ff"] },
    } as unknown as ClassifierConfig;
    return withParameters(classifierSpecs(config), (shared) => (n) =>
      trainStep(shared.parameters, {
        ...{
          config,
          documents: documentsOf(t, n),
          chosen: first(n),
          chunkTokens: p["chunk_tokens"]!,
        },
        ...shared,
      }));
  },
  gpt: (t) => {
    const p = t.params as Readonly<Record<string, number>>;
    const config: GptConfig = {
      ...{ vocabulary: t.vocabulary, context: t.tokens, d: p["d_model"]!, heads: p["heads"]! },
      ...{ layers: p["layers"]!, intensity: RUNS[p["run"]!], bypass: false },
    };
    return withParameters(gptSpecs(config), (shared) => (n) => {
      const { ids } = documentsOf(t, n);
      const excerpts = { sequences: { ids, length: t.tokens }, next: ids };
      return gptStep(shared.parameters, {
        ...{ config, excerpts, chunkTokens: p["chunk_tokens"]! },
        ...shared,
      });
    });
  },
  averaging: (t) => {
    const p = t.params as Readonly<Record<string, number>>;
    const network = new AveragingNetwork(
      { vocabulary: t.vocabulary, classes: t.classes, d: p["d_model"]!, depth: p["depth"]! },
      {
        ...{ batch: t.batch, documents: t.batch, wordDropout: p["word_dropout"]!, rho: p["rho"]! },
        ...{ repeats: "all", seed: 0, rate: p["learning_rate"]!, epsilon: p["epsilon"]! },
      },
      t.tokens,
    );
    let steps = 0;
    const step: Step = (n) => {
      network.step(documentsOf(t, n), first(n), ++steps);
      return Promise.resolve();
    };
    return { step, end() {} };
  },
};

const first = (n: number) => Array.from({ length: n }, (_, i) => i);

/** Documents of one length, ids and labels drawn. */
function documentsOf({ tokens, vocabulary, classes }: Training, n: number) {
  return {
    offsets: first(n + 1).map((i) => i * tokens),
    ids: Int32Array.from(
      integers(streamKey(0, "doctor/ids"), n * tokens, vocabulary - 1),
      (id) => id + 1,
    ),
    labels: first(n).map((i) => i % Math.max(1, classes)),
  };
}

/** What steps share, and how to end them. */
function withParameters(
  specs: ParameterSpec[],
  stepOf: (shared: {
    readonly parameters: ReturnType<typeof initialParameters>;
    readonly moments: ReturnType<typeof zeroMoments>;
    readonly optimizer: { readonly kind: "adamw"; readonly learningRate: number };
    readonly seed: number;
    readonly step: number;
    readonly dropoutRate: number;
    readonly clipNorm: number;
  }) => (documents: number) => tf.Scalar,
): { step: Step; end(): void } {
  const parameters = initialParameters(specs, { seed: 0 });
  const moments = zeroMoments(parameters);
  const run = stepOf({
    ...{ parameters, moments, optimizer: { kind: "adamw", learningRate: 1e-4 } },
    ...{ seed: 0, step: 1, dropoutRate: 0.1, clipNorm: 1 },
  });
  return {
    async step(documents) {
      const loss = run(documents);
      await readTensor(loss);
      loss.dispose();
    },
    end() {
      disposeParameters(parameters);
      for (const { first, second } of moments.values()) tf.dispose([first, second]);
    },
  };
}

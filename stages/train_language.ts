/**
 * Stage `train_language`: trains the character language model of "Learning to Look Harder" on one
 * text under one seed.
 *
 * @module
 */
import { z } from "zod";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type GptShape, gptSpecs } from "../models/gpt.ts";
import { type Excerpts, excerpts, gptStep, meanLoss } from "../models/gpt_training.ts";
import { RUNS } from "../models/intensity.ts";
import { cosineRate } from "../models/optimizer.ts";
import { parameterCount, readParameters } from "../models/parameters.ts";
import { encodeTensors } from "../models/safetensors.ts";
import { MOST_UNREAD, readTensor } from "../models/webgpu.ts";
import { gptFile } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import { defineStage, type StageContext } from "../pipeline/stage.ts";
import {
  disposeState,
  freshState,
  loadState,
  saveState,
  type TrainingState,
} from "./training/state.ts";
import { withinMemory } from "./training/within_memory.ts";

const count = (low: number) => z.int().min(low);

const params = z.strictObject({
  run: count(0).max(RUNS.length - 1).describe("The paper's run: 0 without intensity, 1 to 4 with"),
  bypass: z.boolean().default(false).describe("Keep the predictors, but leave their factors out"),
  seed: count(0).describe("Fixes initial weights, batches and dropout"),
  d_model: count(4).default(384).describe("Features of a token"),
  heads: count(1).default(6).describe("Attention heads; divides d_model"),
  layers: count(1).default(6).describe("Decoder blocks"),
  context: count(1).default(256).describe("Tokens of a sequence"),
  dropout: z.number().min(0).lt(1).default(0.2).describe("Probability"),
  batch: count(1).default(64).describe("Sequences in a step"),
  iterations: count(1).default(5000).describe("Steps"),
  learning_rate: z.number().positive().default(1e-3).describe("Peak, per step"),
  min_learning_rate: z.number().min(0).default(1e-4).describe("After the decay, per step"),
  warmup: count(0).default(100).describe("Steps over which the learning rate rises from 0"),
  decay_until: count(1).nullable().default(null).describe(
    "Step at which the decay ends, or null for the last",
  ),
  weight_decay: z.number().min(0).default(0.1).describe("Of matrices, times the learning rate"),
  beta2: z.number().min(0).lt(1).default(0.99).describe("AdamW's second decay rate"),
  clip_norm: z.number().positive().nullable().default(1).describe("Largest gradient norm, or null"),
  eval_every: count(1).default(250).describe("Steps between evaluations"),
  eval_batches: count(1).default(200).describe("Random batches of an evaluation, for each split"),
  chunk_tokens: count(1).default(4096).describe("Tokens in memory at once; bounds memory"),
  checkpoint_every: count(1).default(250).describe("Steps between checkpoints"),
});

type Params = z.infer<typeof params>;

/** Mean losses in nats per token. */
interface Evaluation {
  readonly iteration: number;
  readonly trainLoss: number;
  readonly validationLoss: number;
}

interface Progress {
  /** Steps done. */
  iteration: number;
  evaluations: Evaluation[];
  /** Index of the evaluation with the lowest validation loss, the first of equals; −1 for none. */
  best: number;
}

type State = TrainingState<Progress>;

/**
 * Trains by the paper's protocol: random excerpts, AdamW with decay of matrices alone, a learning
 * rate that rises and then falls along a cosine, best weights by validation loss.
 *
 * "Learning to Look Harder", 2025, section 5; what it leaves open as in nanoGPT.
 */
export const trainLanguage = defineStage<Params>({
  name: "train_language",
  params,
  inputs: { tokens: {} },
  outputs: {
    weights: { kind: "file", exactness: "numeric" },
    history: { kind: "file", exactness: "numeric" },
  },
  numeric: true,
  checkpoints: true,
  run: withinMemory(run, "a single sequence is too long, context"),
});

async function run(context: StageContext<Params>): Promise<void> {
  const p = context.params;
  if (p.d_model % p.heads !== 0) {
    throw new StageError(
      `Cannot train: heads must divide d_model, found ${p.heads} heads for ${p.d_model} features`,
    );
  }
  const file = readTokenFile(context.input("tokens").path);
  const texts = { train: textOf(file, "train", p), validation: textOf(file, "validation", p) };
  const shape: GptShape = {
    vocabulary: file.vocabularySize,
    context: p.context,
    d: p.d_model,
    heads: p.heads,
    layers: p.layers,
    intensity: RUNS[p.run],
    bypass: p.bypass,
  };
  const specs = gptSpecs(shape);
  await startBackend(context.backend);
  const state = loadState<Progress>(context.checkpoints, specs) ?? freshState(specs, {
    start: { seed: p.seed },
    progress: { iteration: 0, evaluations: [], best: -1 },
  });
  await trainSteps(context, { shape, texts, state });
  const { evaluations, best } = state.progress;
  const history = {
    run: p.run,
    bypass: p.bypass,
    seed: p.seed,
    parameters: parameterCount(specs),
    evaluations,
    bestIteration: evaluations[best]!.iteration,
    bestValidationLoss: evaluations[best]!.validationLoss,
    steps: state.progress.iteration,
  };
  Deno.writeTextFileSync(context.output("history"), JSON.stringify(history, null, 2) + "\n");
  const weights = encodeTensors(gptFile({ shape, run: p.run, seed: p.seed }, state.best));
  Deno.writeFileSync(context.output("weights"), weights);
  context.metric("bestValidationLoss", history.bestValidationLoss);
  context.metric("bestIteration", history.bestIteration);
  disposeState(state);
}

/** A split's text: all its documents, one after the other. */
function textOf(file: TokenFile, split: string, p: Params): ArrayLike<number> {
  const ids = file.splits[split]?.ids;
  if (ids === undefined || ids.length <= p.context) {
    throw new StageError(
      `Cannot train: split "${split}" must have more than context = ${p.context} tokens, found ` +
        `${ids?.length ?? "no such split"}; take more of the text or a shorter context`,
    );
  }
  return ids;
}

type Texts = Readonly<Record<"train" | "validation", ArrayLike<number>>>;

/** The template's loop: evaluates before the first step, every `eval_every` steps, and at the end. */
async function trainSteps(
  context: StageContext<Params>,
  { shape, texts, state }: { shape: GptShape; texts: Texts; state: State },
): Promise<void> {
  const p = context.params;
  const { progress } = state;
  const decayUntil = p.decay_until ?? p.iterations;
  const waitEvery = Math.max(1, Math.floor(MOST_UNREAD * p.chunk_tokens / (p.batch * p.context)));
  const schedule = { peak: p.learning_rate, least: p.min_learning_rate, warmup: p.warmup };
  while (true) {
    const { iteration } = progress;
    const last = iteration === p.iterations;
    const evaluated = progress.evaluations.at(-1)?.iteration === iteration;
    if (!evaluated && (last || iteration % p.eval_every === 0)) {
      await evaluate(context, { shape, texts, state });
    }
    if (last) return;
    const loss = gptStep(state.parameters, {
      shape,
      excerpts: excerpts(texts.train, {
        count: p.batch,
        length: p.context,
        seed: p.seed,
        name: `batch/step.${iteration + 1}`,
      }),
      seed: p.seed,
      step: iteration + 1,
      dropoutRate: p.dropout,
      optimizer: {
        kind: "adamw",
        learningRate: cosineRate(iteration, { ...schedule, decayUntil }),
        weightDecay: p.weight_decay,
        decayRank: 2,
        beta2: p.beta2,
      },
      moments: state.moments,
      clipNorm: p.clip_norm ?? undefined,
      chunkTokens: p.chunk_tokens,
    });
    // What is sent to a device for a step takes memory until it is done: wait for it now and then.
    if (progress.iteration % waitEvery === 0) await readTensor(loss);
    loss.dispose();
    progress.iteration++;
    if (progress.iteration % p.checkpoint_every === 0) await saveState(context.checkpoints, state);
    context.progress({ done: progress.iteration, total: p.iterations, unit: "steps" });
  }
}

/** Records mean losses over random batches, and keeps the weights if they are the best so far. */
async function evaluate(
  context: StageContext<Params>,
  { shape, texts, state }: { shape: GptShape; texts: Texts; state: State },
): Promise<void> {
  const p = context.params;
  const { progress } = state;
  const { iteration } = progress;
  function* batches(split: keyof Texts): Iterable<Excerpts> {
    for (let i = 0; i < p.eval_batches; i++) {
      const name = `evaluate/${split}/step.${iteration}/batch.${i}`;
      yield excerpts(texts[split], { count: p.batch, length: p.context, seed: p.seed, name });
    }
  }
  const mean = (split: keyof Texts) =>
    meanLoss(state.parameters, {
      shape,
      batches: batches(split),
      chunkTokens: p.chunk_tokens,
    });
  const evaluation = {
    iteration,
    trainLoss: await mean("train"),
    validationLoss: await mean("validation"),
  };
  if (!Number.isFinite(evaluation.trainLoss)) {
    throw new StageError(
      `Cannot train: the loss must stay finite, found ${evaluation.trainLoss} at step ` +
        `${iteration}; lower learning_rate`,
    );
  }
  const best = progress.evaluations[progress.best];
  progress.evaluations.push(evaluation);
  if (best === undefined || evaluation.validationLoss < best.validationLoss) {
    progress.best = progress.evaluations.length - 1;
    state.best = await readParameters(state.parameters);
  }
}

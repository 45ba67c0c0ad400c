/**
 * Runs stage `train_language`, which `train_language.ts` declares.
 *
 * @module
 */
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type GptShape, gptSpecs } from "../models/gpt.ts";
import { type Excerpts, excerpts, gptStep, meanLoss } from "../models/gpt_training.ts";
import { RUNS } from "../models/intensity_runs.ts";
import { cosineRate } from "../models/optimizer.ts";
import { parameterCount, readParameters } from "../models/parameters.ts";
import { encodeTensors } from "../models/safetensors.ts";
import { MOST_UNREAD, readTensor } from "../models/webgpu.ts";
import { gptFile } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Run, StageContext } from "../pipeline/stage.ts";
import {
  disposeState,
  freshState,
  loadState,
  saveState,
  type TrainingState,
} from "./training/state.ts";
import { withinMemory } from "./training/within_memory.ts";
import type { TrainLanguageParams } from "./train_language.ts";

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

export const run: Run<TrainLanguageParams> = withinMemory(
  trainModel,
  "a single sequence is too long, context",
);

async function trainModel(context: StageContext<TrainLanguageParams>): Promise<void> {
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
function textOf(file: TokenFile, split: string, p: TrainLanguageParams): ArrayLike<number> {
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
  context: StageContext<TrainLanguageParams>,
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
  context: StageContext<TrainLanguageParams>,
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

/**
 * Runs stage `train_language`, which `train_language.ts` declares.
 *
 * @module
 */
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type GptConfig, gptSpecs } from "../models/gpt.ts";
import { type Excerpts, excerpts, gptStep, meanLoss } from "../models/gpt_training.ts";
import { RUNS } from "../models/intensity_runs.ts";
import { cosineRate } from "../models/optimizer.ts";
import { parameterCount, readParameters } from "../models/parameters.ts";
import { encodeTensors } from "../models/safetensors.ts";
import { gptFile } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Run, StageContext } from "../pipeline/stage.ts";
import { type DeviceStep, type DeviceTraining, onDevice } from "./training/device.ts";
import { runTraining } from "./training/loop.ts";
import { disposeState, openState, type TrainingState } from "./training/state.ts";
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
  steps: number;
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
  const file = readTokenFile(context.input("tokens").path);
  const texts = { train: textOf(file, "train", p), validation: textOf(file, "validation", p) };
  const config: GptConfig = {
    vocabulary: file.vocabularySize,
    context: p.context,
    d: p.d_model,
    heads: p.heads,
    layers: p.layers,
    intensity: intensityOf(p),
    bypass: p.bypass,
  };
  const specs = gptSpecs(config);
  await startBackend(context.backend);
  const state = openState<Progress>(context.checkpoints, specs, {
    start: { seed: p.seed },
    progress: { steps: 0, evaluations: [], best: -1 },
  });
  await runTraining(
    context,
    new StepTraining(p, { config, texts, state }),
    onDevice(context, state),
  );
  const { evaluations, best } = state.progress;
  const { iteration, validationLoss } = evaluations[best]!;
  const history = measurementsText({
    runs: scalars({
      parameters: parameterCount(specs),
      steps: state.progress.steps,
      best_iteration: iteration,
      best_validation_loss: validationLoss,
    }),
    curve: series(evaluations.map((each) => ({
      iteration: each.iteration,
      train_loss: each.trainLoss,
      validation_loss: each.validationLoss,
    }))),
  });
  Deno.writeTextFileSync(context.output("history"), history);
  const weights = encodeTensors(gptFile({ config, run: p.run, seed: p.seed }, state.best));
  Deno.writeFileSync(context.output("weights"), weights);
  context.metric("best_validation_loss", validationLoss);
  context.metric("best_iteration", iteration);
  disposeState(state);
}

/** The run's predictor, with what the paper leaves open as the params have it. */
function intensityOf(
  { run, predictor_input: input, predictor_layers: layers }: TrainLanguageParams,
): GptConfig["intensity"] {
  const own = RUNS[run];
  if (own === undefined) return undefined;
  return {
    ...own,
    ...(input === "normalised" ? {} : { input }),
    ...(layers === null ? {} : { hiddenLayers: layers }),
  };
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

/**
 * Step by step: random excerpts, and an evaluation before the first step, every `eval_every` steps,
 * and at the end, as in the template.
 */
class StepTraining implements DeviceTraining<Progress> {
  readonly state: State;
  readonly steps: number;
  readonly #config: GptConfig;
  readonly #texts: Texts;
  readonly #params: TrainLanguageParams;
  #loss: number | undefined;

  constructor(
    params: TrainLanguageParams,
    { config, texts, state }: { config: GptConfig; texts: Texts; state: State },
  ) {
    this.state = state;
    this.steps = params.iterations;
    this.#config = config;
    this.#texts = texts;
    this.#params = params;
  }

  isDue(): boolean {
    const { steps, evaluations } = this.state.progress;
    if (evaluations.at(-1)?.iteration === steps) return false;
    return steps === this.steps || steps % this.#params.eval_every === 0;
  }

  isDone(): boolean {
    return this.state.progress.steps === this.steps;
  }

  step(): DeviceStep {
    const p = this.#params;
    const { progress: { steps }, parameters, moments } = this.state;
    const loss = gptStep(parameters, {
      config: this.#config,
      excerpts: this.#excerpts("train", `batch/step.${steps + 1}`),
      seed: p.seed,
      step: steps + 1,
      dropoutRate: p.dropout,
      optimizer: {
        kind: "adamw",
        learningRate: cosineRate(steps, {
          peak: p.learning_rate,
          min: p.min_learning_rate,
          warmup: p.warmup,
          decayUntil: p.decay_until ?? p.iterations,
        }),
        weightDecay: p.weight_decay,
        decayRank: 2,
        beta2: p.beta2,
      },
      moments,
      clipNorm: p.clip_norm ?? undefined,
      chunkTokens: p.chunk_tokens,
    });
    return { loss, examples: p.batch, tokens: p.batch * p.context };
  }

  record(loss: number): void {
    this.#loss = loss;
  }

  shownLoss(): number | undefined {
    return this.#loss;
  }

  /** Records mean losses over random batches, and keeps the weights if they are the best so far. */
  async evaluate(): Promise<void> {
    const { parameters, progress } = this.state;
    const { steps: iteration, evaluations } = progress;
    const mean = (split: keyof Texts) =>
      meanLoss(parameters, {
        config: this.#config,
        batches: this.#batches(split),
        chunkTokens: this.#params.chunk_tokens,
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
    const best = evaluations[progress.best];
    evaluations.push(evaluation);
    const better = best === undefined || evaluation.validationLoss < best.validationLoss;
    if (better) progress.best = evaluations.length - 1;
    if (better || this.#params.keep === "last") this.state.best = await readParameters(parameters);
  }

  *#batches(split: keyof Texts): Iterable<Excerpts> {
    const { steps } = this.state.progress;
    for (let i = 0; i < this.#params.eval_batches; i++) {
      yield this.#excerpts(split, `evaluate/${split}/step.${steps}/batch.${i}`);
    }
  }

  #excerpts(split: keyof Texts, name: string): Excerpts {
    const { batch, context, seed } = this.#params;
    return excerpts(this.#texts[split], { count: batch, length: context, seed, name });
  }
}

/**
 * Runs stage `train`, which `train.ts` declares.
 *
 * @module
 */
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type Documents, tokensOf } from "../models/batch.ts";
import { type ClassifierConfig, classifierSpecs } from "../models/classifier.ts";
import { parameterCount, readParameters } from "../models/parameters.ts";
import { permutation, streamKey } from "../models/random.ts";
import { encodeTensors } from "../models/safetensors.ts";
import { measure, trainStep } from "../models/training.ts";
import { trainedFile } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Run, StageContext } from "../pipeline/stage.ts";
import { type DeviceStep, type DeviceTraining, onDevice } from "./training/device.ts";
import { runTraining } from "./training/loop.ts";
import type { EpochProgress } from "./training/progress.ts";
import { disposeState, openState, type TrainingState } from "./training/state.ts";
import { withinMemory } from "./training/within_memory.ts";
import type { TrainParams } from "./train.ts";

/** One epoch's figures. Losses are mean cross-entropies in nats. */
interface Epoch {
  readonly epoch: number;
  readonly trainLoss: number;
  readonly validationLoss: number;
  readonly validationAccuracy: number;
}

interface Progress extends EpochProgress<Epoch> {
  bestEpoch: number;
}

type State = TrainingState<Progress>;

export const run: Run<TrainParams> = withinMemory(
  trainClassifier,
  "a single document is too long, tokenize's max_length",
);

async function trainClassifier(context: StageContext<TrainParams>): Promise<void> {
  const p = context.params;
  const file = readTokenFile(context.input("tokens").path);
  const config = configOf(p, file);
  const specs = classifierSpecs(config);
  await startBackend(context.backend);
  const variant = p.protocol === "authors-code" ? `${p.fusion}/${p.encoding}` : undefined;
  const state = openState<Progress>(context.checkpoints, specs, {
    start: { seed: p.seed, variant },
    progress: { epoch: 0, batches: 0, steps: 0, lossSum: 0, epochs: [], bestEpoch: 0 },
  });
  await runTraining(
    context,
    new EpochTraining(p, { config, file, state }),
    onDevice(context, state),
  );
  const { progress } = state;
  const history = measurementsText({
    runs: scalars({
      protocol: p.protocol,
      parameters: parameterCount(specs),
      epochs: progress.epochs.length,
      best_epoch: progress.bestEpoch,
      steps: progress.steps,
    }),
    curve: series(progress.epochs.map((each) => ({
      epoch: each.epoch,
      train_loss: each.trainLoss,
      validation_loss: each.validationLoss,
      validation_accuracy: each.validationAccuracy,
    }))),
  });
  Deno.writeTextFileSync(context.output("history"), history);
  const weights = encodeTensors(trainedFile({ config, seed: p.seed }, state.best));
  Deno.writeFileSync(context.output("weights"), weights);
  const best = progress.epochs[progress.bestEpoch - 1]!;
  context.metric("validation_accuracy", best.validationAccuracy);
  context.metric("best_epoch", best.epoch);
  disposeState(state);
}

function configOf(p: TrainParams, file: TokenFile): ClassifierConfig {
  return {
    fusion: p.fusion,
    gateTaps: p.gate_taps,
    gateReduce: p.gate_reduce,
    concatBias: p.concat_bias,
    embeddingScale: p.embedding_scale,
    encoding: p.encoding,
    maxDistance: p.max_distance,
    vocabulary: file.vocabularySize,
    maxLength: file.maxLength,
    classes: file.classes.length,
    d: p.d_model,
    heads: p.heads,
    layers: p.layers,
    dFf: p.d_ff,
    activation: p.activation,
  };
}

/** A corpus's documents for training and for validation. */
interface Parts {
  readonly train: { documents: Documents; chosen: ArrayLike<number> };
  readonly validation: { documents: Documents; chosen: ArrayLike<number> };
}

/** The corpus's own validation split, or one drawn from the training documents by the seed. */
function parts(file: TokenFile, p: TrainParams): Parts {
  const { train, validation } = file.splits;
  if (train === undefined || train.labels.length < 2) {
    throw new StageError(
      "Cannot train: the corpus must have a split train of two documents at least, found " +
        `${train?.labels.length ?? "none"}; take a larger subset`,
    );
  }
  const all = train.labels.length;
  if (validation !== undefined && validation.labels.length > 0) {
    const every = Uint32Array.from({ length: validation.labels.length }, (_, i) => i);
    return {
      train: { documents: train, chosen: Uint32Array.from({ length: all }, (_, i) => i) },
      validation: { documents: validation, chosen: every },
    };
  }
  const order = permutation(streamKey(p.seed, "split/validation"), all);
  const held = Math.min(all - 1, Math.max(1, Math.floor(all * p.validation_share)));
  return {
    train: { documents: train, chosen: order.slice(held) },
    validation: { documents: train, chosen: order.slice(0, held) },
  };
}

/** Epoch by epoch: shuffled batches, then an evaluation on the validation documents. */
class EpochTraining implements DeviceTraining<Progress> {
  readonly state: State;
  readonly steps: number;
  readonly #config: ClassifierConfig;
  readonly #params: TrainParams;
  readonly #parts: Parts;
  readonly #documents: number;
  readonly #batches: number;
  /** The current epoch's order of documents. */
  #order: { readonly epoch: number; readonly places: Uint32Array } | undefined;

  constructor(
    params: TrainParams,
    { config, file, state }: { config: ClassifierConfig; file: TokenFile; state: State },
  ) {
    this.state = state;
    this.#config = config;
    this.#params = params;
    this.#parts = parts(file, params);
    this.#documents = this.#parts.train.chosen.length;
    this.#batches = Math.ceil(this.#documents / params.batch);
    this.steps = this.#batches * params.epochs;
  }

  isDue(): boolean {
    return this.state.progress.batches === this.#batches;
  }

  isDone(): boolean {
    const { progress } = this.state;
    return progress.epoch >= this.#params.epochs || exhausted(progress, this.#params);
  }

  step(): DeviceStep {
    const p = this.#params;
    const { progress, parameters, moments } = this.state;
    const { documents, chosen: all } = this.#parts.train;
    const start = progress.batches * p.batch;
    const places = this.#places().subarray(start, start + p.batch);
    const chosen = Array.from(places, (i) => all[i]!);
    const loss = trainStep(parameters, {
      config: this.#config,
      documents,
      chosen,
      seed: p.seed,
      step: progress.steps + 1,
      dropoutRate: p.dropout,
      optimizer: {
        kind: p.optimizer,
        learningRate: p.learning_rate,
        weightDecay: p.weight_decay,
      },
      moments,
      clipNorm: p.clip_norm ?? undefined,
      chunkTokens: p.chunk_tokens,
    });
    progress.batches++;
    return { loss, examples: chosen.length, tokens: tokensOf(documents, chosen) };
  }

  record(loss: number, examples: number): void {
    const { progress } = this.state;
    progress.lossSum += loss * examples;
    if (Number.isFinite(progress.lossSum)) return;
    throw new StageError(
      `Cannot train: the loss must stay finite, found ${progress.lossSum} by step ` +
        `${progress.steps}; lower learning_rate`,
    );
  }

  shownLoss(): number {
    const { lossSum, batches } = this.state.progress;
    return lossSum / Math.min(this.#documents, batches * this.#params.batch);
  }

  /** Records the epoch, and keeps its weights if it is better than all before. */
  async evaluate(): Promise<void> {
    const { state: { parameters, progress } } = this;
    const measured = await measure(parameters, {
      config: this.#config,
      ...this.#parts.validation,
      chunkTokens: this.#params.chunk_tokens,
    });
    const best = progress.epochs[progress.bestEpoch - 1];
    const epoch = {
      epoch: ++progress.epoch,
      trainLoss: progress.lossSum / this.#documents,
      validationLoss: measured.lossNats,
      validationAccuracy: measured.correct / measured.documents,
    };
    progress.epochs.push(epoch);
    if (best === undefined || epoch.validationAccuracy > best.validationAccuracy) {
      progress.bestEpoch = epoch.epoch;
      this.state.best = await readParameters(parameters);
    }
    progress.batches = 0;
    progress.lossSum = 0;
  }

  #places(): Uint32Array {
    const { epoch } = this.state.progress;
    if (this.#order?.epoch !== epoch) {
      const key = streamKey(this.#params.seed, `shuffle/epoch.${epoch}`);
      this.#order = { epoch, places: permutation(key, this.#documents) };
    }
    return this.#order.places;
  }
}

/** Whether the last `patience` epochs each failed to beat the best before them by `min_delta`. */
function exhausted({ epochs }: Progress, p: TrainParams): boolean {
  if (p.patience === null) return false;
  let best = -Infinity, since = 0;
  for (const { validationAccuracy } of epochs) {
    if (validationAccuracy > best + p.min_delta) best = validationAccuracy, since = 0;
    else since++;
  }
  return since >= p.patience;
}

/**
 * Runs stage `train_averaging`, which `train_averaging.ts` declares.
 *
 * @module
 */
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { readTokenFile, type TokenFile, type TokenSplit } from "../data/token_file.ts";
import { AveragingNetwork, averagingSpecs } from "../models/averaging.ts";
import { tokensOf } from "../models/batch.ts";
import { MemoryError } from "../models/memory_error.ts";
import { permutation, streamKey } from "../models/random.ts";
import { decodeTensors, encodeTensors, type StoredTensor } from "../models/safetensors.ts";
import { StageError } from "../pipeline/errors.ts";
import type { StageContext } from "../pipeline/stage.ts";
import { readCheckpoint, writeCheckpoint } from "./training/checkpoint.ts";
import { NumberLosses, runTraining, type Step, type Training } from "./training/loop.ts";
import { type EpochProgress, progressMetadata, readProgress } from "./training/progress.ts";
import type { TrainAveragingParams } from "./train_averaging.ts";

/** One epoch's figures, as rows of a table. Losses are mean cross-entropies in nats. */
type Epoch = {
  readonly epoch: number;
  readonly train_loss: number;
  /** `null` where nothing is validated on. */
  readonly validation_loss: number | null;
  readonly validation_accuracy: number | null;
};

type Progress = EpochProgress<Epoch>;

/** Documents of one split. */
interface Part {
  readonly documents: TokenSplit;
  readonly chosen: Uint32Array;
}

export async function run(context: StageContext<TrainAveragingParams>): Promise<void> {
  const p = context.params;
  const file = readTokenFile(context.input("tokens").path);
  const { train, validation, test } = parts(file, p);
  const config = {
    vocabulary: file.vocabularySize,
    classes: file.classes.length,
    d: p.d_model,
    depth: p.depth,
  };
  const network = withinMemory(() =>
    new AveragingNetwork(config, {
      batch: p.batch,
      documents: train.chosen.length,
      wordDropout: p.word_dropout,
      rho: p.rho,
      rate: p.learning_rate,
      epsilon: p.epsilon,
      repeats: p.repeats,
      seed: p.seed,
    }, file.maxLength)
  );
  const progress = resume(context.checkpoints, network);
  await runTraining(context, new EpochTraining(p, { network, progress, train, validation }), {
    losses: new NumberLosses(),
    save: () => Promise.resolve(save(context.checkpoints, network, progress)),
  });
  const { documents, correct, lossNats } = network.measure(test.documents, test.chosen);
  const runs = {
    accuracy: correct / documents,
    loss_nats: lossNats,
    correct,
    documents,
    epochs: progress.epoch,
    steps: progress.steps,
    batch: p.batch,
    d_model: p.d_model,
    parameters: averagingSpecs(config)
      .reduce((sum, { shape }) => sum + shape.reduce((size, n) => size * n), 0),
  };
  const text = measurementsText({ runs: scalars(runs), curve: series(progress.epochs) });
  Deno.writeTextFileSync(context.output("metrics"), text);
  context.metric("accuracy", runs.accuracy);
  context.metric("loss_nats", runs.loss_nats);
}

function withinMemory<T>(body: () => T): T {
  try {
    return body();
  } catch (cause) {
    if (!(cause instanceof MemoryError)) throw cause;
    throw new StageError(`${cause.message}; lower d_model, or tokenize's max_vocabulary`, {
      cause,
    });
  }
}

/** What is trained on, validated on, if anything, and tested on. */
function parts(file: TokenFile, p: TrainAveragingParams) {
  const { train, validation, test } = file.splits;
  for (const [name, split] of Object.entries({ train, test })) {
    if (split !== undefined && split.labels.length > 0) continue;
    throw new StageError(
      `Cannot train: the corpus must have documents in split "${name}", found none; its splits are ` +
        Object.keys(file.splits).join(", "),
    );
  }
  const all = (documents: TokenSplit): Part => ({
    documents,
    chosen: Uint32Array.from({ length: documents.labels.length }, (_, i) => i),
  });
  if (validation !== undefined && validation.labels.length > 0) {
    return { train: all(train!), validation: all(validation), test: all(test!) };
  }
  const size = train!.labels.length;
  const held = Math.min(size - 1, Math.floor(size * p.validation_share));
  if (held === 0) return { train: all(train!), validation: undefined, test: all(test!) };
  const order = permutation(streamKey(p.seed, "split/validation"), size);
  return {
    train: { documents: train!, chosen: order.slice(held) },
    validation: { documents: train!, chosen: order.slice(0, held) },
    test: all(test!),
  };
}

/** Epoch by epoch: shuffled batches, then a look at the validation documents. */
class EpochTraining implements Training<Progress, number> {
  readonly state: { readonly progress: Progress };
  readonly steps: number;
  readonly #params: TrainAveragingParams;
  readonly #network: AveragingNetwork;
  readonly #train: Part;
  readonly #validation: Part | undefined;
  readonly #batches: number;
  /** The current epoch's documents in order. */
  #order: { readonly epoch: number; readonly documents: Uint32Array } | undefined;

  constructor(
    params: TrainAveragingParams,
    o: {
      network: AveragingNetwork;
      progress: Progress;
      train: Part;
      validation: Part | undefined;
    },
  ) {
    this.state = o;
    this.#params = params;
    this.#network = o.network;
    this.#train = o.train;
    this.#validation = o.validation;
    this.#batches = Math.ceil(o.train.chosen.length / params.batch);
    this.steps = this.#batches * params.epochs;
  }

  isDue(): boolean {
    return this.state.progress.batches === this.#batches;
  }

  isDone(): boolean {
    return this.state.progress.epoch >= this.#params.epochs;
  }

  step(): Step<number> {
    const { progress } = this.state;
    const { documents } = this.#train;
    const start = progress.batches++ * this.#params.batch;
    const chosen = this.#shuffled().subarray(start, start + this.#params.batch);
    const loss = this.#network.step(documents, chosen, progress.steps + 1);
    return { loss, examples: chosen.length, tokens: tokensOf(documents, chosen) };
  }

  record(loss: number, examples: number): void {
    const { progress } = this.state;
    progress.lossSum += loss * examples;
    if (Number.isFinite(progress.lossSum)) return;
    throw new StageError(
      `Cannot train: the loss must stay finite, found ${loss} in step ${progress.steps}; lower ` +
        "learning_rate",
    );
  }

  shownLoss(): number {
    const { lossSum, batches } = this.state.progress;
    return lossSum / Math.min(this.#train.chosen.length, batches * this.#params.batch);
  }

  /** Ends the epoch. */
  evaluate(): Promise<void> {
    const { progress } = this.state;
    const network = this.#network;
    network.settle(progress.steps);
    const validated = this.#validation === undefined
      ? undefined
      : network.measure(this.#validation.documents, this.#validation.chosen);
    progress.epochs.push({
      epoch: ++progress.epoch,
      train_loss: progress.lossSum / this.#train.chosen.length,
      validation_loss: validated?.lossNats ?? null,
      validation_accuracy: validated === undefined ? null : validated.correct / validated.documents,
    });
    if (progress.epoch % this.#params.reset_every === 0) network.resetSums();
    progress.batches = 0;
    progress.lossSum = 0;
    return Promise.resolve();
  }

  #shuffled(): Uint32Array {
    const { epoch } = this.state.progress;
    if (this.#order?.epoch !== epoch) {
      const { chosen } = this.#train;
      const key = streamKey(this.#params.seed, `shuffle/epoch.${epoch}`);
      const documents = permutation(key, chosen.length).map((place) => chosen[place]!);
      this.#order = { epoch, documents };
    }
    return this.#order.documents;
  }
}

function save(folder: string | undefined, network: AveragingNetwork, progress: Progress): void {
  if (folder === undefined) return;
  const tensors = new Map<string, StoredTensor>();
  for (const [name, values] of network.state()) {
    tensors.set(name, { shape: [values.length], values });
  }
  writeCheckpoint(folder, encodeTensors({ metadata: progressMetadata(progress), tensors }));
}

/** Sets the network to what the newest whole checkpoint holds; gives its progress. */
function resume(folder: string | undefined, network: AveragingNetwork): Progress {
  const fresh: Progress = { epoch: 0, batches: 0, steps: 0, lossSum: 0, epochs: [] };
  if (folder === undefined) return fresh;
  return readCheckpoint(folder, (content) => {
    const { metadata, tensors } = decodeTensors(content);
    const progress = readProgress(metadata, fresh);
    const state = network.state();
    for (const [name, values] of state) {
      if (tensors.get(name)?.values.length === values.length) continue;
      throw new SyntaxError(`it must have ${values.length} numbers of ${name}`);
    }
    for (const [name, values] of state) values.set(tensors.get(name)!.values);
    return progress;
  }) ?? fresh;
}

/**
 * Runs stage `train`, which `train.ts` declares.
 *
 * @module
 */
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type Documents, tokensOf } from "../models/batch.ts";
import { type ClassifierShape, classifierSpecs, entersAttention } from "../models/classifier.ts";
import { parameterCount, readParameters } from "../models/parameters.ts";
import { permutation, streamKey } from "../models/random.ts";
import { encodeTensors } from "../models/safetensors.ts";
import { measure, trainStep } from "../models/training.ts";
import { MOST_UNREAD, readScalars } from "../models/webgpu.ts";
import { trainedFile } from "../models/weights.ts";
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
import type { TrainParams } from "./train.ts";

/** One epoch's figures. Losses are mean cross-entropies in nats. */
interface Epoch {
  readonly epoch: number;
  readonly trainLoss: number;
  readonly validationLoss: number;
  readonly validationAccuracy: number;
}

/** Where a run stands; with the tensors it is all that a resumed run needs. */
interface Progress {
  /** Epochs finished, batches of the current one done, steps done. */
  epoch: number;
  batches: number;
  steps: number;
  /** Sum over this epoch's documents of their losses. */
  lossSum: number;
  epochs: Epoch[];
  bestEpoch: number;
}

type Loss = ReturnType<typeof trainStep>;

type State = TrainingState<Progress>;

export const run: Run<TrainParams> = withinMemory(
  trainClassifier,
  "a single document is too long, tokenize's max_length",
);

async function trainClassifier(context: StageContext<TrainParams>): Promise<void> {
  const p = context.params;
  if (p.d_model % p.heads !== 0) {
    throw new StageError(
      `Cannot train: heads must divide d_model, found ${p.heads} heads for ${p.d_model} features`,
    );
  }
  if (entersAttention(p.encoding) && p.fusion !== "add") {
    throw new StageError(
      `Cannot train: with ${p.encoding} positions enter the attention and nothing is fused, so ` +
        `fusion must be "add", found "${p.fusion}"; use another encoding or fusion`,
    );
  }
  const file = readTokenFile(context.input("tokens").path);
  const shape: ClassifierShape = {
    fusion: p.fusion,
    gateTaps: p.gate_taps,
    gateReduce: p.gate_reduce,
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
  const specs = classifierSpecs(shape);
  await startBackend(context.backend);
  const variant = p.protocol === "authors-code" ? `${p.fusion}/${p.encoding}` : undefined;
  const state = loadState<Progress>(context.checkpoints, specs) ?? freshState(specs, {
    start: { seed: p.seed, variant },
    progress: { epoch: 0, batches: 0, steps: 0, lossSum: 0, epochs: [], bestEpoch: 0 },
  });
  await trainEpochs(context, { shape, file, state });
  const { progress } = state;
  writeJson(context.output("history"), {
    protocol: p.protocol,
    fusion: p.fusion,
    encoding: p.encoding,
    seed: p.seed,
    parameters: parameterCount(specs),
    epochs: progress.epochs,
    bestEpoch: progress.bestEpoch,
    steps: progress.steps,
  });
  const weights = encodeTensors(trainedFile({ shape, seed: p.seed }, state.best));
  Deno.writeFileSync(context.output("weights"), weights);
  const best = progress.epochs[progress.bestEpoch - 1]!;
  context.metric("validationAccuracy", best.validationAccuracy);
  context.metric("bestEpoch", best.epoch);
  disposeState(state);
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

async function trainEpochs(
  context: StageContext<TrainParams>,
  { shape, file, state }: { shape: ClassifierShape; file: TokenFile; state: State },
): Promise<void> {
  const p = context.params;
  const { train, validation } = parts(file, p);
  const documents = train.chosen.length;
  const stepsPerEpoch = Math.ceil(documents / p.batch);
  const { progress } = state;
  // Reading a loss waits for the device: on a GPU that is done seldom. But what is sent there for a
  // step takes memory until it is done, so that many tokens do not wait unread.
  const readEvery = context.backend === "webgpu" ? 50 : 5;
  let unread = 0;
  while (progress.epoch < p.epochs && !exhausted(progress, p)) {
    const order = permutation(streamKey(p.seed, `shuffle/epoch.${progress.epoch}`), documents);
    const pending: { loss: Loss; n: number }[] = [];
    const flush = async () => {
      if (pending.length === 0) return;
      const losses = await readScalars(pending.map(({ loss }) => loss));
      pending.splice(0).forEach(({ loss, n }, i) => {
        progress.lossSum += losses[i]! * n;
        loss.dispose();
      });
      unread = 0;
      if (!Number.isFinite(progress.lossSum)) {
        throw new StageError(
          `Cannot train: the loss must stay finite, found ${progress.lossSum} by step ` +
            `${progress.steps}; lower learning_rate`,
        );
      }
    };
    while (progress.batches < stepsPerEpoch) {
      const start = progress.batches * p.batch;
      const end = Math.min(documents, start + p.batch);
      const chosen = Array.from(order.subarray(start, end), (i) => train.chosen[i]!);
      const loss = trainStep(state.parameters, {
        shape,
        documents: train.documents,
        chosen,
        seed: p.seed,
        step: progress.steps + 1,
        dropoutRate: p.dropout,
        optimizer: {
          kind: p.optimizer,
          learningRate: p.learning_rate,
          weightDecay: p.weight_decay,
        },
        moments: state.moments,
        clipNorm: p.clip_norm ?? undefined,
        chunkTokens: p.chunk_tokens,
      });
      pending.push({ loss, n: chosen.length });
      unread += tokensOf(train.documents, chosen);
      progress.batches++;
      progress.steps++;
      if (
        progress.steps % readEvery === 0 || progress.batches === stepsPerEpoch ||
        unread >= MOST_UNREAD * p.chunk_tokens
      ) await flush();
      if (progress.steps % p.checkpoint_every === 0) {
        await flush();
        await saveState(context.checkpoints, state);
      }
      const seen = Math.min(documents, progress.batches * p.batch);
      context.progress({
        done: progress.steps,
        total: stepsPerEpoch * p.epochs,
        unit: "steps",
        ...(pending.length === 0 ? { values: { loss: progress.lossSum / seen } } : {}),
      });
    }
    const measured = await measure(state.parameters, {
      shape,
      ...validation,
      chunkTokens: p.chunk_tokens,
    });
    await finishEpoch(state, {
      epoch: progress.epoch + 1,
      trainLoss: progress.lossSum / documents,
      validationLoss: measured.lossNats,
      validationAccuracy: measured.correct / measured.documents,
    });
  }
}

/** Records an epoch, and keeps its weights if it is better than all before. */
async function finishEpoch(state: State, epoch: Epoch): Promise<void> {
  const { progress } = state;
  const best = progress.epochs[progress.bestEpoch - 1];
  progress.epochs.push(epoch);
  if (best === undefined || epoch.validationAccuracy > best.validationAccuracy) {
    progress.bestEpoch = epoch.epoch;
    state.best = await readParameters(state.parameters);
  }
  progress.epoch++;
  progress.batches = 0;
  progress.lossSum = 0;
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

function writeJson(path: string, value: unknown): void {
  Deno.writeTextFileSync(path, JSON.stringify(value, null, 2) + "\n");
}

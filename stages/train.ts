/**
 * Stage `train`: trains the classifier of "Fusion Matters" on one corpus under one seed.
 *
 * @module
 */
import { z } from "zod";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type Documents, tokensOf } from "../models/batch.ts";
import { type ClassifierShape, classifierSpecs, entersAttention } from "../models/classifier.ts";
import { FUSIONS, GATE_REDUCES } from "../models/fusion.ts";
import { parameterCount, readParameters } from "../models/parameters.ts";
import { ENCODINGS } from "../models/positions.ts";
import { permutation, streamKey } from "../models/random.ts";
import { encodeTensors } from "../models/safetensors.ts";
import { measure, trainStep } from "../models/training.ts";
import { MOST_UNREAD, readScalars } from "../models/webgpu.ts";
import { trainedFile } from "../models/weights.ts";
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
  fusion: z.enum(FUSIONS).describe("How token embeddings and positional encodings are fused"),
  encoding: z.enum(ENCODINGS).default("sinusoidal").describe("Positional encoding"),
  gate_taps: count(1).refine((taps) => taps % 2 === 1, "must be odd").default(3).describe(
    "Taps of gate_cnn's convolution, 2K + 1",
  ),
  gate_reduce: z.enum(GATE_REDUCES).default("none").describe(
    "gate_cnn: a gate for each feature (none) or one for all (mean)",
  ),
  max_distance: count(1).default(16).describe("relative_attention: K, where distances are clipped"),
  protocol: z.enum(["paper", "authors-code"]).default("paper").describe(
    "authors-code: operators share no initial weights under one seed; see docs/protocols.md",
  ),
  seed: count(0).describe("Fixes initial weights, validation split, batches and dropout"),
  d_model: count(1).default(256).describe("Features of a token"),
  heads: count(1).default(8).describe("Attention heads; divides d_model"),
  layers: count(1).default(4).describe("Encoder blocks"),
  d_ff: count(1).default(1024).describe("Hidden features of a block's feed-forward part"),
  activation: z.enum(["gelu", "relu"]).default("gelu"),
  dropout: z.number().min(0).lt(1).default(0.1).describe("Probability"),
  batch: count(1).default(64).describe("Documents in a step"),
  epochs: count(1).default(20).describe("Passes over the training documents, at most"),
  optimizer: z.enum(["adamw", "adam"]).default("adamw"),
  learning_rate: z.number().positive().default(3e-4).describe("Per step"),
  weight_decay: z.number().min(0).default(0).describe("Per step, times the learning rate"),
  clip_norm: z.number().positive().nullable().default(1).describe("Largest gradient norm, or null"),
  validation_share: z.number().gt(0).lt(1).default(0.1).describe(
    "Share of the training documents kept for validation where the corpus has no such split",
  ),
  patience: count(1).nullable().default(null).describe(
    "Epochs without a better validation accuracy after which to stop, or null for never",
  ),
  min_delta: z.number().min(0).default(0).describe("Gain in accuracy that patience counts"),
  chunk_tokens: count(1).default(4096).describe("Tokens in memory at once; bounds memory"),
  checkpoint_every: count(1).default(200).describe("Steps between checkpoints"),
});

type Params = z.infer<typeof params>;

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

/**
 * Trains as the authors' notebooks do, whose optimizers and schedules the text of Hallam & Tseng
 * 2026 leaves out: the best epoch is that of the highest validation accuracy, the first of equals.
 */
export const train = defineStage<Params>({
  name: "train",
  params,
  inputs: { tokens: {} },
  outputs: {
    weights: { kind: "file", exactness: "numeric" },
    history: { kind: "file", exactness: "numeric" },
  },
  numeric: true,
  checkpoints: true,
  run: withinMemory(run, "a single document is too long, tokenize's max_length"),
});

async function run(context: StageContext<Params>): Promise<void> {
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
function parts(file: TokenFile, p: Params): Parts {
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
  context: StageContext<Params>,
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
function exhausted({ epochs }: Progress, p: Params): boolean {
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

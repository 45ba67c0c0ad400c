/**
 * Runs stage `latency`, which `latency.ts` declares.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type Batch, chunks, packBatch } from "../models/batch.ts";
import { type ClassifierConfig, classifierSpecs, classify, sizeOf } from "../models/classifier.ts";
import { disposeParameters, type Parameters, parametersFrom } from "../models/parameters.ts";
import { decodeTensors } from "../models/safetensors.ts";
import { readTensor } from "../models/webgpu.ts";
import { trainedFrom } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Artifact, StageContext } from "../pipeline/stage.ts";
import type { LatencyParams } from "./latency.ts";

interface Model {
  readonly at: Artifact["at"];
  readonly config: ClassifierConfig;
  readonly seed: number;
  readonly parameters: Parameters;
  /** Milliseconds of its pass in each round that counts. */
  readonly passes: number[];
}

export async function run(context: StageContext<LatencyParams>): Promise<void> {
  const p = context.params;
  const file = readTokenFile(context.input("tokens").path);
  const { chosen, batches, tokens } = batchesOf(file, p);
  await startBackend(context.backend);
  const models = context.inputs("weights").map((artifact) => modelFrom(artifact, file));
  for (let round = -p.warm_up; round < p.rounds; round++) {
    // There and back: a machine that slows down steadily slows no model more than another.
    for (const model of round % 2 === 0 ? models : models.toReversed()) {
      const start = performance.now();
      await pass(model, batches);
      const ms = performance.now() - start;
      if (round >= 0) model.passes.push(ms);
    }
    const total = p.warm_up + p.rounds;
    context.progress({ done: p.warm_up + round + 1, total, unit: "rounds" });
  }
  const measured = {
    backend: context.backend,
    documents: chosen,
    batches: Math.ceil(chosen / p.batch),
    batch: Math.min(p.batch, chosen),
    tokensPerDocument: tokens / chosen,
    warmUp: p.warm_up,
    models: models.map(({ at, config, seed, passes }) => ({
      operator: at["operator"] ?? config.fusion,
      encoding: config.encoding,
      seed,
      size: sizeOf(config),
      passMs: passes,
    })),
  };
  for (const { parameters } of models) disposeParameters(parameters);
  Deno.writeTextFileSync(context.output("latency"), JSON.stringify(measured, null, 1) + "\n");
}

/**
 * Packs documents that lie evenly over the split, since a split may be sorted by class or length.
 *
 * @throws {StageError} If the split has none.
 */
function batchesOf(
  file: TokenFile,
  p: LatencyParams,
): { chosen: number; batches: Batch[]; tokens: number } {
  const documents = file.splits[p.split];
  const held = documents?.labels.length ?? 0;
  if (documents === undefined || held === 0) {
    throw new StageError(
      `Cannot measure latency: the corpus must have documents in split "${p.split}", found none; ` +
        `its splits are ${Object.keys(file.splits).join(", ")}`,
    );
  }
  const count = Math.min(p.documents, held);
  const chosen = Array.from({ length: count }, (_, i) => Math.floor(i * held / count));
  const batches: Batch[] = [];
  for (let first = 0; first < count; first += p.batch) {
    const batch = chosen.slice(first, first + p.batch);
    for (const piece of chunks(documents, batch, p.chunk_tokens)) {
      batches.push(packBatch(documents, piece));
    }
  }
  const tokens = batches.reduce((total, batch) => total + batch.ids.length, 0);
  return { chosen: count, batches, tokens };
}

function modelFrom(artifact: Artifact, file: TokenFile): Model {
  const weights = decodeTensors(Deno.readFileSync(artifact.path));
  const { config, seed } = trainedFrom(weights);
  if (config.vocabulary !== file.vocabularySize || config.classes !== file.classes.length) {
    throw new StageError(
      "Cannot measure latency: the weights must have been trained on this corpus's vocabulary, " +
        `found ${config.vocabulary} words and ${config.classes} classes against ` +
        `${file.vocabularySize} and ${file.classes.length}`,
    );
  }
  const parameters = parametersFrom(classifierSpecs(config), weights.tensors);
  return { at: artifact.at, config, seed, parameters, passes: [] };
}

/** Classifies all batches; ends when the last logits are here, whatever the device queued. */
async function pass({ config, parameters }: Model, batches: readonly Batch[]): Promise<void> {
  const logits = batches.map((batch) =>
    tf.tidy(() => classify(config, parameters, { batch }).logits)
  );
  await Promise.all(logits.map(readTensor));
  tf.dispose(logits);
}

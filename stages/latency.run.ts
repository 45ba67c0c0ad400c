/**
 * Runs stage `latency`, which `latency.ts` declares.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { type Batch, chunks, packBatch } from "../models/batch.ts";
import { type ClassifierConfig, classifierSpecs, classify } from "../models/classifier.ts";
import { disposeParameters, type Parameters, parametersFrom } from "../models/parameters.ts";
import { decodeTensors } from "../models/safetensors.ts";
import { readTensor } from "../models/webgpu.ts";
import { trainedFrom } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Artifact, StageContext } from "../pipeline/stage.ts";
import { inTurn } from "./timing/in_turn.ts";
import type { LatencyParams } from "./latency.ts";

interface Model {
  readonly at: Artifact["at"];
  readonly config: ClassifierConfig;
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
  await inTurn(models, context, async (model, round) => {
    const start = performance.now();
    await pass(model, batches);
    const ms = performance.now() - start;
    if (round >= 0) model.passes.push(ms);
  });
  for (const { parameters } of models) disposeParameters(parameters);
  const text = measurementsText({
    rounds: series(models.flatMap(({ at, passes }) =>
      passes.map((ms, round) => ({
        ...at,
        round,
        ms_per_batch: ms / Math.ceil(chosen / p.batch),
        ms_per_document: ms / chosen,
      }))
    )),
    timing: scalars({
      backend: context.backend,
      documents: chosen,
      batch: Math.min(p.batch, chosen),
      tokens_per_document: tokens / chosen,
      warm_up: p.warm_up,
      rounds: p.rounds,
    }),
  });
  Deno.writeTextFileSync(context.output("latency"), text);
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
  const { config } = trainedFrom(weights);
  if (config.vocabulary !== file.vocabularySize || config.classes !== file.classes.length) {
    throw new StageError(
      "Cannot measure latency: the weights must have been trained on this corpus's vocabulary, " +
        `found ${config.vocabulary} words and ${config.classes} classes against ` +
        `${file.vocabularySize} and ${file.classes.length}`,
    );
  }
  const parameters = parametersFrom(classifierSpecs(config), weights.tensors);
  return { at: artifact.at, config, parameters, passes: [] };
}

/** Classifies all batches; ends when the last logits are here, whatever the device queued. */
async function pass({ config, parameters }: Model, batches: readonly Batch[]): Promise<void> {
  const logits = batches.map((batch) =>
    tf.tidy(() => classify(config, parameters, { batch }).logits)
  );
  await Promise.all(logits.map(readTensor));
  tf.dispose(logits);
}

/**
 * Runs stage `evaluate`, which `evaluate.ts` declares.
 *
 * @module
 */
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { readTokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { classifierSpecs, sizeOf } from "../models/classifier.ts";
import { disposeParameters, parametersFrom } from "../models/parameters.ts";
import { decodeTensors } from "../models/safetensors.ts";
import { measure } from "../models/training.ts";
import { trainedFrom } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Run, StageContext } from "../pipeline/stage.ts";
import { withinMemory } from "./training/within_memory.ts";
import type { EvaluateParams } from "./evaluate.ts";

export const run: Run<EvaluateParams> = withinMemory(
  evaluateClassifier,
  "a single document is too long, tokenize's max_length",
);

async function evaluateClassifier(context: StageContext<EvaluateParams>): Promise<void> {
  const { split, chunk_tokens: chunkTokens } = context.params;
  const file = readTokenFile(context.input("tokens").path);
  const documents = file.splits[split];
  if (documents === undefined || documents.labels.length === 0) {
    throw new StageError(
      `Cannot evaluate: the corpus must have documents in split "${split}", found none; its ` +
        `splits are ${Object.keys(file.splits).join(", ")}`,
    );
  }
  const weights = decodeTensors(Deno.readFileSync(context.input("weights").path));
  const { config } = trainedFrom(weights);
  if (config.vocabulary !== file.vocabularySize || config.classes !== file.classes.length) {
    throw new StageError(
      "Cannot evaluate: the weights must have been trained on this corpus's vocabulary, found " +
        `${config.vocabulary} words and ${config.classes} classes against ${file.vocabularySize} ` +
        `and ${file.classes.length}`,
    );
  }
  await startBackend(context.backend);
  const parameters = parametersFrom(classifierSpecs(config), weights.tensors);
  const chosen = Uint32Array.from({ length: documents.labels.length }, (_, i) => i);
  const measured = await measure(parameters, { config, documents, chosen, chunkTokens });
  disposeParameters(parameters);
  const classes = file.classes.map((name) => ({
    class: name,
    class_documents: 0,
    class_correct: 0,
  }));
  documents.labels.forEach((label, i) => {
    classes[label]!.class_documents++;
    if (measured.predictions[i] === label) classes[label]!.class_correct++;
  });
  const accuracy = measured.correct / measured.documents;
  const largest = Math.max(...classes.map((each) => each.class_documents));
  const text = measurementsText({
    runs: scalars({
      accuracy,
      loss_nats: measured.lossNats,
      correct: measured.correct,
      documents: measured.documents,
      majority_share: largest / measured.documents,
      ...sizeOf(config),
    }),
    classes: series(classes),
    ...(measured.gateByPosition === undefined
      ? {}
      : { gate: series(measured.gateByPosition.map((value, position) => ({ position, value }))) }),
  });
  Deno.writeTextFileSync(context.output("metrics"), text);
  context.metric("accuracy", accuracy);
  context.metric("loss_nats", measured.lossNats);
}

/**
 * A trained model as a file's content: its weights, with its config and origin as metadata.
 *
 * @module
 */
import type { ClassifierConfig } from "./classifier.ts";
import { EMBEDDING_SCALES, ENCODINGS, FUSIONS, GATE_REDUCES } from "./names.ts";
import type { GptConfig } from "./gpt.ts";
import { PREDICTOR_INPUTS, type PredictorInput, RUNS } from "./intensity_runs.ts";
import type { StoredTensor, TensorFile } from "./safetensors.ts";

/** What a weights file says of its classifier. */
export interface Trained {
  readonly config: ClassifierConfig;
  readonly seed: number;
}

/** A weights file's content; see {@linkcode trainedFrom}. */
export function trainedFile(
  { config, seed }: Trained,
  tensors: ReadonlyMap<string, StoredTensor>,
): TensorFile {
  const { fusion, encoding, activation, gateReduce, concatBias, embeddingScale, ...sizes } = config;
  const names = {
    ...{ model: "classifier", fusion, encoding, activation, gateReduce },
    ...(concatBias === false ? { concatBias: "false" } : {}),
    ...(embeddingScale === "one" ? { embeddingScale } : {}),
  };
  const numbers = Object.entries({ ...sizes, seed }).map(([name, n]) => [name, String(n)]);
  return {
    metadata: { ...names, ...Object.fromEntries(numbers) },
    tensors,
  };
}

/**
 * The config and seed in a weights file.
 *
 * @throws {SyntaxError} If it does not describe a classifier.
 */
export function trainedFrom({ metadata }: TensorFile): Trained {
  const { one, whole } = fields(metadata);
  one("model", ["classifier"]);
  // What is not there is as it always was.
  const has = (name: string) => metadata[name] !== undefined;
  return {
    config: {
      ...(has("concatBias") ? { concatBias: one("concatBias", ["true", "false"]) === "true" } : {}),
      ...(has("embeddingScale") ? { embeddingScale: one("embeddingScale", EMBEDDING_SCALES) } : {}),
      fusion: one("fusion", FUSIONS),
      encoding: one("encoding", ENCODINGS),
      activation: one("activation", ["gelu", "relu"]),
      gateReduce: one("gateReduce", GATE_REDUCES),
      gateTaps: whole("gateTaps"),
      maxDistance: whole("maxDistance"),
      vocabulary: whole("vocabulary"),
      maxLength: whole("maxLength"),
      classes: whole("classes"),
      d: whole("d"),
      heads: whole("heads"),
      layers: whole("layers"),
      dFf: whole("dFf"),
    },
    seed: whole("seed"),
  };
}

/** What a weights file says of its language model. */
export interface TrainedGpt {
  readonly config: GptConfig;
  /** Which of the paper's runs its intensity is. */
  readonly run: number;
  readonly seed: number;
}

/** A language model's weights file. */
export function gptFile(
  { config, run, seed }: TrainedGpt,
  tensors: ReadonlyMap<string, StoredTensor>,
): TensorFile {
  const { vocabulary, context, d, heads, layers, bypass, intensity } = config;
  const { input, hiddenLayers } = intensity ?? {};
  const numbers = {
    ...{ vocabulary, context, d, heads, layers, run, seed },
    ...(hiddenLayers === undefined ? {} : { hiddenLayers }),
  };
  const metadata = Object.entries(numbers).map(([name, n]) => [name, String(n)]);
  return {
    metadata: {
      ...{ model: "gpt", bypass: String(bypass), ...Object.fromEntries(metadata) },
      ...(input === undefined ? {} : { predictorInput: input }),
    },
    tensors,
  };
}

/**
 * The config and seed in a language model's weights file.
 *
 * @throws {SyntaxError} If it does not describe a language model.
 */
export function gptFrom({ metadata }: TensorFile): TrainedGpt {
  const { one, whole } = fields(metadata);
  one("model", ["gpt"]);
  const run = Number(one("run", RUNS.map((_, i) => String(i))));
  const predictor = {
    ...(metadata["predictorInput"] === undefined
      ? {}
      : { input: one<PredictorInput>("predictorInput", PREDICTOR_INPUTS) }),
    ...(metadata["hiddenLayers"] === undefined ? {} : { hiddenLayers: whole("hiddenLayers") }),
  };
  return {
    run,
    seed: whole("seed"),
    config: {
      vocabulary: whole("vocabulary"),
      context: whole("context"),
      d: whole("d"),
      heads: whole("heads"),
      layers: whole("layers"),
      intensity: RUNS[run] && { ...RUNS[run], ...predictor },
      bypass: one("bypass", ["true", "false"]) === "true",
    },
  };
}

/** Reads metadata: a word of a list, or a whole number. */
function fields(metadata: Readonly<Record<string, string>>) {
  return {
    one<T extends string>(name: string, allowed: readonly T[]): T {
      const found = allowed.find((value) => value === metadata[name]);
      if (found !== undefined) return found;
      throw new SyntaxError(
        `Cannot read weights: "${name}" must be one of ${allowed.join(", ")}, found ` +
          `${metadata[name]}`,
      );
    },
    whole(name: string): number {
      const value = metadata[name] ?? "";
      if (/^[0-9]{1,16}$/.test(value) && Number.isSafeInteger(Number(value))) return Number(value);
      throw new SyntaxError(
        `Cannot read weights: "${name}" must be a whole number, found "${value}"`,
      );
    },
  };
}

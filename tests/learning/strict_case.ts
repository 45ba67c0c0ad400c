/**
 * Trainings that leave nothing to chance: what the training stages draw from a seed, written out,
 * so that another implementation can start from the same weights and take the same batches.
 *
 * @module
 */
import { parse } from "@std/yaml";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { readTokenFile, type TokenFile } from "../../data/token_file.ts";
import { type ClassifierConfig, classifierSpecs } from "../../models/classifier.ts";
import { gptSpecs } from "../../models/gpt.ts";
import { excerpts } from "../../models/gpt_training.ts";
import { startBackend } from "../../models/backend.ts";
import { zeroMoments } from "../../models/optimizer.ts";
import { initialValue, parametersFrom, type ParameterSpec } from "../../models/parameters.ts";
import { permutation, streamKey } from "../../models/random.ts";
import { decodeTensors, encodeTensors } from "../../models/safetensors.ts";
import { download } from "../../stages/download.ts";
import { tokenize } from "../../stages/tokenize.ts";
import { train } from "../../stages/train.ts";
import { trainLanguage } from "../../stages/train_language.ts";
import { disposeState, saveState } from "../../stages/training/state.ts";
import { artifact, measuredRows, runStage } from "../rig/run_stage.ts";

/** Params of `train_language` that this module reads. */
export interface LanguageParams {
  readonly seed: number;
  readonly d_model: number;
  readonly heads: number;
  readonly layers: number;
  readonly context: number;
  readonly batch: number;
  readonly iterations: number;
  readonly eval_every: number;
  readonly eval_batches: number;
}

/** Params of `train` that this module reads. */
export interface ClassifierParams {
  readonly seed: number;
  readonly fusion: "add";
  readonly encoding: "sinusoidal";
  readonly d_model: number;
  readonly heads: number;
  readonly layers: number;
  readonly d_ff: number;
  readonly activation: "gelu" | "relu";
  readonly epochs: number;
  readonly validation_share: number;
}

/** A training without dropout. */
export type StrictCase =
  & {
    readonly name: string;
    /** Name of a record in data/sources.yaml. */
    readonly source: string;
    readonly tokenize: Readonly<Record<string, unknown>>;
    /** Factor of the initial embeddings, 1 unless given. */
    readonly embeddingScale?: number;
  }
  & (
    | { readonly stage: "train_language"; readonly train: LanguageParams }
    | { readonly stage: "train"; readonly train: ClassifierParams }
  );

/** SHA-256, in hexadecimal. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Downloads and tokenises in `directory` by the real stages; gives the token file's path. */
export async function tokensOf(
  { source, tokenize: params }: Pick<StrictCase, "source" | "tokenize">,
  { directory, mirror }: { readonly directory: string; readonly mirror: string | undefined },
): Promise<string> {
  const sources = parse(
    Deno.readTextFileSync(new URL("../../data/sources.yaml", import.meta.url)),
  ) as Record<string, unknown>;
  const raw = await runStage(download, { source: sources[source] }, {
    directory,
    ...(mirror === undefined ? {} : { mirror }),
  });
  const tokens = await runStage(tokenize, params, {
    directory,
    inputs: { raw: artifact(raw.outputs.raw!) },
  });
  return tokens.outputs.tokens!;
}

/** What a training starts from and is fed, as the bytes of two files. */
export interface Start {
  /** Initial weights, safetensors. */
  readonly weights: Uint8Array<ArrayBuffer>;
  /** JSON: {@linkcode LanguageBatches} or {@linkcode ClassifierBatches}. */
  readonly batches: string;
}

/** Starts of excerpts of a text. */
interface LanguageBatches {
  /** By step, from step 1. */
  readonly steps: readonly (readonly number[])[];
  /** By evaluation and split: batches. */
  readonly evaluations: readonly {
    readonly train: readonly (readonly number[])[];
    readonly validation: readonly (readonly number[])[];
  }[];
}

/** Numbers of training documents. */
interface ClassifierBatches {
  /** By epoch: in the order in which they are learnt from. */
  readonly epochs: readonly (readonly number[])[];
  readonly validation: readonly number[];
}

/** Draws what the case's training stage draws, from the streams that it draws from. */
export function startOf(from: StrictCase, tokens: string): Start {
  const file = readTokenFile(tokens);
  const { specs, batches } = from.stage === "train_language"
    ? languageStart(from.train, file)
    : classifierStart(from.train, file);
  const tensors = specs.map((spec) => {
    const values = initialValue(spec, { seed: from.train.seed });
    const scale = spec.name === "embedding" ? from.embeddingScale ?? 1 : 1;
    return [spec.name, { shape: spec.shape, values: values.map((x) => x * scale) }] as const;
  });
  return {
    weights: encodeTensors({ metadata: {}, tensors: new Map(tensors) }),
    batches: JSON.stringify(batches),
  };
}

/**
 * Trains by the case's real stage on the `wasm` backend, from a checkpoint before the first step
 * that holds the start's weights; gives what was evaluated.
 */
export async function trainedFrom(
  from: StrictCase,
  options: { readonly directory: string; readonly tokens: string; readonly start: Start },
): Promise<Readonly<Record<string, number>>[]> {
  const { directory, tokens, start } = options;
  await startBackend("wasm");
  const { tensors } = decodeTensors(start.weights);
  const specs = [...tensors].map(([name, { shape }]): ParameterSpec => (
    { name, shape, initial: { kind: "constant", value: 0 } }
  ));
  const parameters = parametersFrom(specs, tensors);
  const progress = from.stage === "train_language"
    ? { steps: 0, evaluations: [], best: -1 }
    : { epoch: 0, batches: 0, steps: 0, lossSum: 0, epochs: [], bestEpoch: 0 };
  const state = { parameters, moments: zeroMoments(parameters), best: new Map(), progress };
  const checkpoints = join(directory, "checkpoints");
  Deno.mkdirSync(checkpoints);
  await saveState(checkpoints, state);
  disposeState(state);
  const run = { directory, checkpoints, inputs: { tokens: artifact(tokens) } };
  const { outputs } = from.stage === "train_language"
    ? await runStage(trainLanguage, from.train, run)
    : await runStage(train, from.train, run);
  return measuredRows(outputs.history!, "curve") as Readonly<Record<string, number>>[];
}

function languageStart(
  p: LanguageParams,
  file: TokenFile,
): { specs: ParameterSpec[]; batches: LanguageBatches } {
  const config = { ...p, vocabulary: file.vocabularySize, d: p.d_model, bypass: false };
  // Excerpts of a text whose tokens are their own places show where they start.
  const places = (split: "train" | "validation") => {
    const text = Int32Array.from(file.splits[split]!.ids, (_, i) => i);
    return (name: string) => {
      const drawn = excerpts(text, { count: p.batch, length: p.context, seed: p.seed, name });
      return [...drawn.sequences.ids].filter((_, i) => i % p.context === 0);
    };
  };
  const draw = { train: places("train"), validation: places("validation") };
  const evaluated = Array.from({ length: p.iterations + 1 }, (_, iteration) => iteration)
    .filter((iteration) => iteration === p.iterations || iteration % p.eval_every === 0);
  const evaluation = (split: "train" | "validation", iteration: number) =>
    Array.from(
      { length: p.eval_batches },
      (_, i) => draw[split](`evaluate/${split}/step.${iteration}/batch.${i}`),
    );
  return {
    specs: gptSpecs(config),
    batches: {
      steps: Array.from({ length: p.iterations }, (_, i) => draw.train(`batch/step.${i + 1}`)),
      evaluations: evaluated.map((iteration) => ({
        train: evaluation("train", iteration),
        validation: evaluation("validation", iteration),
      })),
    },
  };
}

function classifierStart(
  p: ClassifierParams,
  file: TokenFile,
): { specs: ParameterSpec[]; batches: ClassifierBatches } {
  const config: ClassifierConfig = {
    ...p,
    d: p.d_model,
    dFf: p.d_ff,
    vocabulary: file.vocabularySize,
    maxLength: file.maxLength,
    classes: file.classes.length,
    gateTaps: 3,
    gateReduce: "none",
    maxDistance: 16,
  };
  const count = file.splits.train!.labels.length;
  const drawn = permutation(streamKey(p.seed, "split/validation"), count);
  const held = Math.floor(count * p.validation_share);
  const rest = drawn.slice(held);
  return {
    specs: classifierSpecs(config),
    batches: {
      epochs: Array.from({ length: p.epochs }, (_, epoch) =>
        Array.from(
          permutation(streamKey(p.seed, `shuffle/epoch.${epoch}`), rest.length),
          (i) => rest[i]!,
        )),
      validation: [...drawn.slice(0, held)],
    },
  };
}

/** The directory's files that another implementation reads. */
export function writeStart(
  directory: string,
  options: { readonly from: StrictCase; readonly tokens: string; readonly start: Start },
): void {
  const { from, tokens, start } = options;
  Deno.mkdirSync(directory, { recursive: true });
  Deno.copyFileSync(tokens, join(directory, "tokens"));
  Deno.writeFileSync(join(directory, "start.safetensors"), start.weights);
  Deno.writeTextFileSync(join(directory, "batches.json"), start.batches);
  Deno.writeTextFileSync(join(directory, "case.json"), JSON.stringify(from, null, 1) + "\n");
}

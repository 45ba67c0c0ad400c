/**
 * Runs stage `generate`, which `generate.ts` declares.
 *
 * @module
 */
import { readTokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { generate as generateTokens } from "../models/generation.ts";
import { gptSpecs } from "../models/gpt.ts";
import { disposeParameters, parametersFrom } from "../models/parameters.ts";
import { decodeTensors } from "../models/safetensors.ts";
import { gptFrom } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { StageContext } from "../pipeline/stage.ts";
import type { GenerateParams } from "./generate.ts";

/** Tokens per second of each way of generating; the draws are the same. */
interface Speed {
  readonly cache: boolean;
  readonly tokens: number;
  readonly seconds: number;
  readonly tokensPerSecond: number;
}

export async function run(context: StageContext<GenerateParams>): Promise<void> {
  const p = context.params;
  const file = readTokenFile(context.input("tokens").path);
  const weights = decodeTensors(Deno.readFileSync(context.input("weights").path));
  const { config, run, seed } = gptFrom(weights);
  const decode = decoder(Deno.readTextFileSync(context.input("vocabulary").path));
  const first = file.splits.train?.ids[0];
  if (first === undefined || config.vocabulary !== file.vocabularySize) {
    throw new StageError(
      "Cannot generate: the weights must have been trained on this text's symbols, found " +
        `${config.vocabulary} symbols against ${file.vocabularySize}`,
    );
  }
  await startBackend(context.backend);
  const parameters = parametersFrom(gptSpecs(config), weights.tensors);
  const draw = (i: number, cache: boolean) =>
    generateTokens(parameters, {
      config,
      prompt: [first],
      tokens: p.tokens,
      temperature: p.temperature,
      topK: p.top_k,
      seed: p.seed,
      name: `generate/sample.${i}`,
      cache,
    });
  const texts: string[] = [];
  const speeds: Speed[] = [];
  for (const cache of p.cached ? [false, true] : [false]) {
    await draw(0, cache);
    const start = performance.now();
    for (let i = 0; i < p.samples; i++) {
      const text = await draw(i, cache);
      if (!cache) texts.push(decode(text));
      const total = p.samples * (p.cached ? 2 : 1);
      context.progress({ done: i + 1 + (cache ? p.samples : 0), total, unit: "texts" });
    }
    const seconds = (performance.now() - start) / 1000, tokens = p.samples * p.tokens;
    speeds.push({ cache, tokens, seconds, tokensPerSecond: tokens / seconds });
  }
  disposeParameters(parameters);
  const model = { run, bypass: config.bypass, seed };
  writeJson(context.output("samples"), { ...model, texts });
  writeJson(context.output("speed"), { ...model, speeds });
}

/** From ids to text, by the `vocabulary` of a text cut into bytes or characters. */
function decoder(vocabulary: string): (ids: readonly number[]) => string {
  const { unit, symbols } = JSON.parse(vocabulary) as { unit?: string; symbols?: number[] };
  if (symbols === undefined || (unit !== "byte" && unit !== "character")) {
    throw new StageError(
      'Cannot generate: the vocabulary must be of bytes or characters, found unit "' +
        `${unit ?? "word"}"; tokenize with unit: character`,
    );
  }
  return (ids) => {
    const values = ids.map((id) => symbols[id]!);
    return unit === "byte"
      ? new TextDecoder().decode(Uint8Array.from(values))
      : String.fromCodePoint(...values);
  };
}

function writeJson(path: string, value: unknown): void {
  Deno.writeTextFileSync(path, JSON.stringify(value, null, 2) + "\n");
}

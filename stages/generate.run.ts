/**
 * Runs stage `generate`, which `generate.ts` declares.
 *
 * @module
 */
import { readTokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { generate as generateTokens } from "../models/generation.ts";
import { disposeParameters } from "../models/parameters.ts";
import { StageError } from "../pipeline/errors.ts";
import type { StageContext } from "../pipeline/stage.ts";
import { generatorFrom } from "./timing/generator.ts";
import type { GenerateParams } from "./generate.ts";

export async function run(context: StageContext<GenerateParams>): Promise<void> {
  const p = context.params;
  const file = readTokenFile(context.input("tokens").path);
  const decode = decoder(Deno.readTextFileSync(context.input("vocabulary").path));
  await startBackend(context.backend);
  const { config, parameters, first } = generatorFrom(context.input("weights").path, file);
  const texts: string[] = [];
  for (let i = 0; i < p.samples; i++) {
    const ids = await generateTokens(parameters, {
      config,
      prompt: [first],
      tokens: p.tokens,
      temperature: p.temperature,
      topK: p.top_k,
      seed: p.seed,
      name: `generate/sample.${i}`,
      // A cache adds the same numbers in another order, and might draw another text.
      cache: false,
    });
    texts.push(decode(ids));
    context.progress({ done: i + 1, total: p.samples, unit: "texts" });
  }
  disposeParameters(parameters);
  Deno.writeTextFileSync(context.output("samples"), JSON.stringify({ texts }, null, 2) + "\n");
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

/**
 * Runs stage `generate`, which `generate.ts` declares.
 *
 * @module
 */
import { readTokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { generate as generateTokens } from "../models/generation.ts";
import { disposeParameters } from "../models/parameters.ts";
import type { StageContext } from "../pipeline/stage.ts";
import { generatorFrom } from "./timing/generator.ts";
import { symbolsFrom } from "./timing/symbols.ts";
import type { GenerateParams } from "./generate.ts";

export async function run(context: StageContext<GenerateParams>): Promise<void> {
  const p = context.params;
  const file = readTokenFile(context.input("tokens").path);
  const symbols = symbolsFrom(context.input("vocabulary").path);
  await startBackend(context.backend);
  const { config, parameters, first } = generatorFrom(context.input("weights").path, file);
  const prompt = p.start === undefined ? [first] : symbols.encode(p.start);
  const texts: string[] = [];
  for (let i = 0; i < p.samples; i++) {
    const ids = await generateTokens(parameters, {
      config,
      prompt,
      tokens: p.tokens,
      temperature: p.temperature,
      topK: p.top_k,
      seed: p.seed,
      name: `generate/sample.${i}`,
      // A cache adds the same numbers in another order, and might draw another text.
      cache: false,
    });
    texts.push(symbols.decode(ids));
    context.progress({ done: i + 1, total: p.samples, unit: "texts" });
  }
  disposeParameters(parameters);
  Deno.writeTextFileSync(context.output("samples"), JSON.stringify({ texts }, null, 2) + "\n");
}

/**
 * Runs stage `speed`, which `speed.ts` declares.
 *
 * @module
 */
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { generate } from "../models/generation.ts";
import { disposeParameters } from "../models/parameters.ts";
import type { Artifact, StageContext } from "../pipeline/stage.ts";
import { type Generator, generatorFrom } from "./timing/generator.ts";
import { inTurn } from "./timing/in_turn.ts";
import type { SpeedParams } from "./speed.ts";

interface Timed extends Generator {
  readonly at: Artifact["at"];
  /** Tokens per second of each round that counts; null for what is not measured. */
  readonly rounds: { readonly plain: number; readonly cached: number | null }[];
}

export async function run(context: StageContext<SpeedParams>): Promise<void> {
  const p = context.params;
  const file: TokenFile = readTokenFile(context.input("tokens").path);
  await startBackend(context.backend);
  const models = context.inputs("weights").map((artifact): Timed => ({
    ...generatorFrom(artifact.path, file),
    at: artifact.at,
    rounds: [],
  }));
  await inTurn(models, context, async (model, round) => {
    const plain = await speedOf(model, { round, cache: false, p });
    const cached = p.cached ? await speedOf(model, { round, cache: true, p }) : null;
    if (round >= 0) model.rounds.push({ plain, cached });
  });
  for (const { parameters } of models) disposeParameters(parameters);
  const text = measurementsText({
    speeds: series(models.flatMap(({ at, rounds }) =>
      rounds.map(({ plain, cached }, round) => ({
        ...at,
        round,
        tokens_per_second: plain,
        tokens_per_second_cached: cached,
      }))
    )),
    timing: scalars({
      backend: context.backend,
      tokens: p.tokens,
      warm_up: p.warm_up,
      rounds: p.rounds,
    }),
  });
  Deno.writeTextFileSync(context.output("speed"), text);
}

/** Tokens per second of one text; all models draw by the same numbers in a round. */
async function speedOf(
  { config, parameters, first }: Timed,
  { round, cache, p }: { round: number; cache: boolean; p: SpeedParams },
): Promise<number> {
  const start = performance.now();
  await generate(parameters, {
    config,
    prompt: [first],
    tokens: p.tokens,
    temperature: p.temperature,
    topK: p.top_k,
    seed: p.seed,
    name: `speed/round.${round}`,
    cache,
  });
  return 1000 * p.tokens / (performance.now() - start);
}

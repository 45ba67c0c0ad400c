/**
 * Runs stage `speed`, which `speed.ts` declares.
 *
 * @module
 */
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { sum } from "../analysis/statistics/sample.ts";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { generate } from "../models/generation.ts";
import { disposeParameters } from "../models/parameters.ts";
import type { Artifact, StageContext } from "../pipeline/stage.ts";
import { type Generator, generatorFrom } from "./timing/generator.ts";
import { inTurn } from "./timing/in_turn.ts";
import { symbolsFrom } from "./timing/symbols.ts";
import type { SpeedParams } from "./speed.ts";

interface Timed extends Generator {
  readonly at: Artifact["at"];
  readonly prompt: readonly number[];
  /** Of each round that counts. */
  readonly rounds: Rates[];
}

/** Tokens per second; null for what is not measured. */
interface Rates {
  readonly plain: number;
  readonly cached: number | null;
}

export async function run(context: StageContext<SpeedParams>): Promise<void> {
  const p = context.params;
  const file: TokenFile = readTokenFile(context.input("tokens").path);
  await startBackend(context.backend);
  const start = p.start === undefined
    ? undefined
    : symbolsFrom(context.input("vocabulary").path).encode(p.start);
  const models = context.inputs("weights").map((artifact): Timed => {
    const generator = generatorFrom(artifact.path, file);
    return { ...generator, prompt: start ?? [generator.first], at: artifact.at, rounds: [] };
  });
  const time = async (model: Timed, round: number) => {
    const plain = await speedOf(model, { round, cache: false, p });
    const cached = p.cached ? await speedOf(model, { round, cache: true, p }) : null;
    if (round >= 0) model.rounds.push({ plain, cached });
  };
  if (p.order === "in_turn") await inTurn(models, context, time);
  else for (const model of models) await inTurn([model], context, time);
  for (const { parameters } of models) disposeParameters(parameters);
  const text = measurementsText({
    speeds: series(
      models.flatMap(({ at, rounds }) =>
        (p.order === "in_turn" ? rounds : [meanOf(rounds)]).map(({ plain, cached }, round) => ({
          ...at,
          round,
          tokens_per_second: plain,
          tokens_per_second_cached: cached,
        }))
      ),
    ),
    timing: scalars({
      backend: context.backend,
      tokens: p.tokens,
      warm_up: p.warm_up,
      rounds: p.rounds,
    }),
  });
  Deno.writeTextFileSync(context.output("speed"), text);
}

/** The mean of texts' rates, not the rate of all texts. */
function meanOf(rounds: readonly Rates[]): Rates {
  const mean = (values: readonly number[]) => sum(values) / values.length;
  const cached = rounds.map(({ cached }) => cached).filter((rate) => rate !== null);
  return {
    plain: mean(rounds.map(({ plain }) => plain)),
    cached: cached.length === 0 ? null : mean(cached),
  };
}

/** Tokens per second of one text; all models draw by the same numbers in a round. */
async function speedOf(
  { config, parameters, prompt }: Timed,
  { round, cache, p }: { round: number; cache: boolean; p: SpeedParams },
): Promise<number> {
  const start = performance.now();
  await generate(parameters, {
    config,
    prompt,
    tokens: p.tokens,
    temperature: p.temperature,
    topK: p.top_k,
    seed: p.seed,
    name: `speed/round.${round}`,
    cache,
  });
  return 1000 * p.tokens / (performance.now() - start);
}

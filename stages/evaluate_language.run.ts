/**
 * Runs stage `evaluate_language`, which `evaluate_language.ts` declares.
 *
 * @module
 */
import { measurementsText, scalars, series } from "../analysis/tidy/measurements.ts";
import { readTokenFile, type TokenFile } from "../data/token_file.ts";
import { startBackend } from "../models/backend.ts";
import { gptSpecs, type Sequences } from "../models/gpt.ts";
import { type Excerpts, meanLoss, sequencesAtOnce } from "../models/gpt_training.ts";
import { intensityProfiles } from "../models/intensity_profile.ts";
import { disposeParameters, type Parameters, parametersFrom } from "../models/parameters.ts";
import { decodeTensors } from "../models/safetensors.ts";
import { gptFrom, type TrainedGpt } from "../models/weights.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Run, StageContext } from "../pipeline/stage.ts";
import { withinMemory } from "./training/within_memory.ts";
import type { EvaluateLanguageParams } from "./evaluate_language.ts";

export const run: Run<EvaluateLanguageParams> = withinMemory(
  evaluateModel,
  "a single sequence is too long, train's context",
);

async function evaluateModel(context: StageContext<EvaluateLanguageParams>): Promise<void> {
  const file = readTokenFile(context.input("tokens").path);
  const weights = decodeTensors(Deno.readFileSync(context.input("weights").path));
  const trained = gptFrom(weights);
  const { config } = trained;
  if (config.vocabulary !== file.vocabularySize) {
    throw new StageError(
      "Cannot evaluate: the weights must have been trained on this text's symbols, found " +
        `${config.vocabulary} symbols against ${file.vocabularySize}`,
    );
  }
  await startBackend(context.backend);
  const parameters = parametersFrom(gptSpecs(config), weights.tensors);
  const measured = await measure(context, { file, trained, parameters });
  disposeParameters(parameters);
  const of = (name: string) => measured.splits.find(({ split }) => split === name);
  const [validation, test] = [of("validation"), of("test")];
  const text = measurementsText({
    runs: scalars({
      validation_loss: validation?.lossNats ?? null,
      validation_bits: validation?.bits ?? null,
      validation_tokens: validation?.tokens ?? null,
      test_loss: test?.lossNats ?? null,
      test_bits: test?.bits ?? null,
      test_tokens: test?.tokens ?? null,
      d_model: config.d,
      heads: config.heads,
      layers: config.layers,
      context: config.context,
      vocabulary: config.vocabulary,
    }),
    ...(measured.intensities.length === 0 ? {} : {
      intensity: series(
        measured.intensities.flatMap(({ block, head, byPosition }) =>
          byPosition.map((value, position) => ({ block, head, position, value }))
        ),
      ),
    }),
  });
  Deno.writeTextFileSync(context.output("metrics"), text);
  for (const { split, lossNats } of measured.splits) context.metric(`${split}_loss`, lossNats);
}

async function measure(
  context: StageContext<EvaluateLanguageParams>,
  { file, trained, parameters }: {
    file: TokenFile;
    trained: TrainedGpt;
    parameters: Parameters;
  },
) {
  const { config } = trained;
  const { max_excerpts: max, chunk_tokens: chunkTokens } = context.params;
  const length = config.context;
  const atOnce = sequencesAtOnce(chunkTokens, length);
  const splits = [];
  for (const split of ["validation", "test"]) {
    const text = file.splits[split]?.ids;
    if (text === undefined || text.length <= length) continue;
    const batches = inBatches(text, {
      starts: spread(text.length, { length, max }),
      length,
      atOnce,
    });
    const lossNats = await meanLoss(parameters, { config, batches, chunkTokens });
    const tokens = batches.reduce((sum, batch) => sum + batch.next.length, 0);
    splits.push({ split, tokens, lossNats, bits: lossNats / Math.LN2 });
  }
  const [first] = splits;
  if (first === undefined) {
    throw new StageError(
      "Cannot evaluate: the text must have a split validation or test of more than context = " +
        `${length} tokens, found ${Object.keys(file.splits).join(", ")}`,
    );
  }
  const text = file.splits[first.split]!.ids;
  const starts = spread(text.length, { length, max });
  const sequences: Sequences[] = inBatches(text, { starts, length, atOnce })
    .map((batch) => batch.sequences);
  const intensities = await intensityProfiles(parameters, { config, length, batches: sequences });
  return { splits, intensities };
}

/** Starts of at most `max` excerpts that do not overlap, evenly spread over a text. */
export function spread(
  tokens: number,
  { length, max }: { length: number; max: number },
): number[] {
  // Each excerpt needs the token after its last.
  const all = Math.floor((tokens - 1) / length);
  const count = Math.min(all, max);
  return Array.from({ length: count }, (_, i) => Math.floor(i * all / count) * length);
}

function inBatches(
  text: ArrayLike<number>,
  { starts, length, atOnce }: { starts: readonly number[]; length: number; atOnce: number },
): Excerpts[] {
  return Array.from({ length: Math.ceil(starts.length / atOnce) }, (_, b) => {
    const own = starts.slice(b * atOnce, (b + 1) * atOnce);
    const take = (shift: number) =>
      Int32Array.from(
        { length: own.length * length },
        (_, i) => text[own[Math.floor(i / length)]! + i % length + shift]!,
      );
    return { sequences: { ids: take(0), length }, next: take(1) };
  });
}

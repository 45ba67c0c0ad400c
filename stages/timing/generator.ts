/**
 * A trained language model that writes.
 *
 * @module
 */
import type { TokenFile } from "../../data/token_file.ts";
import { type GptConfig, gptSpecs } from "../../models/gpt.ts";
import { type Parameters, parametersFrom } from "../../models/parameters.ts";
import { decodeTensors } from "../../models/safetensors.ts";
import { gptFrom } from "../../models/weights.ts";
import { StageError } from "../../pipeline/errors.ts";

/** What generation starts from. */
export interface Generator {
  readonly config: GptConfig;
  readonly parameters: Parameters;
  /** The first symbol of the training text. */
  readonly first: number;
}

/**
 * Reads a weights file; the backend must have been started, and the caller disposes the parameters.
 *
 * @throws {StageError} If it was trained on other symbols than the text's.
 */
export function generatorFrom(path: string, file: TokenFile): Generator {
  const weights = decodeTensors(Deno.readFileSync(path));
  const { config } = gptFrom(weights);
  const first = file.splits.train?.ids[0];
  if (first === undefined || config.vocabulary !== file.vocabularySize) {
    throw new StageError(
      "Cannot generate: the weights must have been trained on this text's symbols, found " +
        `${config.vocabulary} symbols against ${file.vocabularySize}`,
    );
  }
  return { config, parameters: parametersFrom(gptSpecs(config), weights.tensors), first };
}

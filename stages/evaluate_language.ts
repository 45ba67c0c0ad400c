/**
 * Stage `evaluate_language`: measures a trained language model on all of its held-out text.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  max_excerpts: z.int().min(1).default(4096).describe(
    "Excerpts of a split to measure on, at most, as long as the context and evenly spread",
  ),
  chunk_tokens: z.int().min(1).default(4096).describe("Tokens in memory at once; bounds memory"),
});

/** Validated params of `evaluate_language`. */
export type EvaluateLanguageParams = z.infer<typeof params>;

/**
 * Loss of the best weights on excerpts that do not overlap, and what the predictors say there.
 *
 * Training compares evaluations on random excerpts and keeps the best, so that its lowest loss is
 * a little lucky; the loss measured here on the split `test` is not. Of a split that is too short
 * there is none. A shared factor has no head.
 */
export const evaluateLanguage = defineStage<EvaluateLanguageParams>({
  name: "evaluate_language",
  params,
  inputs: { tokens: {}, weights: {} },
  outputs: {
    metrics: {
      kind: "file",
      exactness: "numeric",
      measures: {
        runs: [
          ...["validation_loss", "validation_bits", "validation_tokens"],
          ...["test_loss", "test_bits", "test_tokens"],
          ...["d_model", "heads", "layers", "context", "vocabulary"],
        ],
        intensity: ["block", "head", "position", "value"],
      },
    },
  },
  numeric: true,
});

/**
 * Stage `evaluate`: classifies the test documents with trained weights.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  split: z.enum(["train", "validation", "test"]).default("test").describe("Split to classify"),
  chunk_tokens: z.int().min(1).default(4096).describe("Tokens in memory at once; bounds memory"),
});

/** Validated params of `evaluate`. */
export type EvaluateParams = z.infer<typeof params>;

/** Accuracy and loss of trained weights; for gates, their mean value at each position too. */
export const evaluate = defineStage<EvaluateParams>({
  name: "evaluate",
  params,
  inputs: { tokens: {}, weights: {} },
  outputs: {
    metrics: {
      kind: "file",
      exactness: "numeric",
      measures: {
        runs: [
          ...["accuracy", "loss_nats", "correct", "documents", "majority_share"],
          ...["d_model", "heads", "layers", "d_ff", "max_length"],
        ],
        classes: ["class", "class_documents", "class_correct"],
        gate: ["position", "value"],
      },
    },
  },
  numeric: true,
});

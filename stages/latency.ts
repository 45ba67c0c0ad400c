/**
 * Stage `latency`: times trained classifiers on the same documents, one beside the other.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  split: z.enum(["train", "validation", "test"]).default("test").describe("Split to classify"),
  documents: z.int().min(1).default(128).describe("Documents of a pass, evenly over the split"),
  batch: z.int().min(1).default(64).describe("Documents of a batch"),
  warm_up: z.int().min(1).default(5).describe("Rounds before those that count"),
  rounds: z.int().min(2).default(20).describe("Rounds that count; in each all models are timed"),
  chunk_tokens: z.int().min(1).default(65536)
    .describe("Tokens in memory at once: a batch of more is classified in pieces"),
});

/** Validated params of `latency`. */
export type LatencyParams = z.infer<typeof params>;

/**
 * Seconds of classifying some documents, for every model it is given. The models take turns, so
 * that whatever slows the machine down slows all of them, and differences can be taken within a
 * round.
 */
export const latency = defineStage<LatencyParams>({
  name: "latency",
  params,
  inputs: { tokens: {}, weights: { many: true } },
  outputs: {
    latency: {
      kind: "file",
      exactness: "measured",
      measures: {
        rounds: ["*", "round", "ms_per_batch", "ms_per_document"],
        timing: ["backend", "documents", "batch", "tokens_per_document", "warm_up", "rounds"],
      },
    },
  },
  numeric: true,
  alone: true,
});

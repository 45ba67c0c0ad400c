/**
 * Stage `generate`: draws text from a trained language model.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  samples: z.int().min(1).default(10).describe("Texts to draw"),
  tokens: z.int().min(1).default(500).describe("Tokens of a text"),
  temperature: z.number().positive().default(0.8),
  top_k: z.int().min(1).default(200).describe("How many of the likeliest tokens may be drawn"),
  start: z.string().min(1).optional().describe(
    "What each text starts from; by default the first symbol of the training text",
  ),
  seed: z.int().min(0).default(1337).describe("Fixes the draws"),
});

/** Validated params of `generate`. */
export type GenerateParams = z.infer<typeof params>;

/** Texts from trained weights. */
export const generate = defineStage<GenerateParams>({
  name: "generate",
  params,
  inputs: { tokens: {}, vocabulary: {}, weights: {} },
  outputs: { samples: { kind: "file", exactness: "numeric" } },
  numeric: true,
});

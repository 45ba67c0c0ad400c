/**
 * Stage `generate`: draws text from a trained language model and measures how fast.
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
  seed: z.int().min(0).default(1337).describe("Fixes the draws"),
  cached: z.boolean().default(true).describe("Measure with a cache of keys and values as well"),
});

/** Validated params of `generate`. */
export type GenerateParams = z.infer<typeof params>;

/**
 * Texts from trained weights, each from the first symbol of the training text. A first text warms
 * the backend up and is not timed.
 */
export const generate = defineStage<GenerateParams>({
  name: "generate",
  params,
  inputs: { tokens: {}, vocabulary: {}, weights: {} },
  outputs: {
    samples: { kind: "file", exactness: "numeric" },
    speed: { kind: "file", exactness: "measured" },
  },
  numeric: true,
  alone: true,
});

/**
 * Stage `speed`: times how fast trained language models generate, one beside the other.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  tokens: z.int().min(1).default(500).describe("Tokens of a text; each round draws one a model"),
  warm_up: z.int().min(1).default(1).describe("Rounds before those that count"),
  rounds: z.int().min(2).default(10).describe("Rounds that count; in each all models are timed"),
  order: z.enum(["in_turn", "one_by_one"]).default("in_turn").describe(
    "in_turn: models take turns, and each round is a row. one_by_one: all texts of a model and then " +
      "the next one's, and a row is the mean of the texts' rates",
  ),
  temperature: z.number().positive().default(0.8),
  top_k: z.int().min(1).default(200).describe("How many of the likeliest tokens may be drawn"),
  start: z.string().min(1).optional().describe(
    "What each text starts from; by default the first symbol of the training text",
  ),
  seed: z.int().min(0).default(1337).describe("Fixes the draws"),
  cached: z.boolean().default(true).describe("Measure with a cache of keys and values as well"),
});

/** Validated params of `speed`. */
export type SpeedParams = z.infer<typeof params>;

/**
 * Tokens per second of every model it is given, in rounds of which each has every model draw a text.
 * The models take turns, so that whatever slows the machine down slows all of them, and ratios can be
 * taken within a round; unless they are timed as others did, one by one.
 */
export const speed = defineStage<SpeedParams>({
  name: "speed",
  params,
  inputs: { tokens: {}, vocabulary: {}, weights: { many: true } },
  outputs: {
    speed: {
      kind: "file",
      exactness: "measured",
      measures: {
        speeds: ["*", "round", "tokens_per_second", "tokens_per_second_cached"],
        timing: ["backend", "tokens", "warm_up", "rounds"],
      },
    },
  },
  numeric: true,
  alone: true,
});

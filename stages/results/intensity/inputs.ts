/**
 * Schemas of what the aggregation reads: what training, evaluation and generation wrote, and what
 * the paper printed.
 *
 * @module
 */
import { z } from "zod";

const count = z.number().int().nonnegative();
const variant = { run: count, bypass: z.boolean(), seed: count };

/** Losses by iteration, nats per character. */
export const historySchema = z.object({
  ...variant,
  parameters: count,
  evaluations: z.array(z.object({
    iteration: count,
    trainLoss: z.number(),
    validationLoss: z.number(),
  })),
  bestIteration: count,
  bestValidationLoss: z.number(),
  steps: count,
});
export type History = z.infer<typeof historySchema>;

const sizes = { context: count, d: count, heads: count, layers: count };

/** One evaluated model. */
export const metricsSchema = z.object({
  ...variant,
  shape: z.object({ vocabulary: count, ...sizes }),
  splits: z.array(z.object({
    split: z.string(),
    tokens: count,
    lossNats: z.number(),
    bits: z.number(),
  })),
  intensities: z.array(z.object({
    block: count,
    head: count.nullable(),
    byPosition: z.array(z.number()),
  })),
});
export type Metrics = z.infer<typeof metricsSchema>;

/** How fast one model wrote text. */
export const speedSchema = z.object({
  ...variant,
  speeds: z.array(z.object({
    cache: z.boolean(),
    tokens: count,
    seconds: z.number(),
    tokensPerSecond: z.number(),
  })),
});
export type Speed = z.infer<typeof speedSchema>;

const byVariant = z.record(z.string(), z.number());

/** What the paper printed: losses in nats per character, speeds in tokens per second. */
export const publishedSchema = z.strictObject({
  /** dataset → variant → best validation loss. */
  losses: z.record(z.string(), byVariant).default({}),
  /** Table 1's losses, each a mean over all data sets. */
  averages: byVariant.default({}),
  /** Table 1's speeds. */
  speeds: byVariant.default({}),
  /** The model these were measured on. */
  model: z.strictObject(sizes).optional(),
  /** dataset → iterations it was trained for. */
  iterations: z.record(z.string(), count).default({}),
  /** dataset → characters of the whole text; a text of fewer is labelled a sample. */
  characters: z.record(z.string(), count).default({}),
});
export type Published = z.infer<typeof publishedSchema>;

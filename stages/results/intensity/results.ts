/**
 * The results file of the language models: everything that does not depend on the time it took.
 * Losses are nats per character.
 *
 * @module
 */
import { z } from "zod";
import { corpusSchema } from "../inputs.ts";
import { judgedClaimSchema } from "./claim.ts";

const interval = z.tuple([z.number(), z.number()]).nullable();
const summary = { n: z.number(), mean: z.number(), sd: z.number().nullable(), interval };
const cell = { dataset: z.string(), variant: z.string() };

const conditionSchema = z.object({
  ...cell,
  ...summary,
  /** Best validation loss as printed; null unless the data corresponds. */
  published: z.number().nullable(),
  /** Whether model and training are the paper's size, as far as the paper says. */
  fullSize: z.boolean(),
  runs: z.array(z.object({
    seed: z.number(),
    best: z.number(),
    bestIteration: z.number(),
    steps: z.number(),
    parameters: z.number(),
    /** On all of the split, or evenly spread over it, with the best weights. */
    splits: z.array(z.object({
      split: z.string(),
      tokens: z.number(),
      lossNats: z.number(),
      bits: z.number(),
    })),
  })),
});
export type Condition = z.infer<typeof conditionSchema>;

/** The whole document. Arrays are in display order. */
export const resultsSchema = z.object({
  format: z.literal("lockstep-intensity/1"),
  experiment: z.string(),
  confidence: z.number(),
  variants: z.array(z.string()),
  seeds: z.array(z.number()),
  datasets: z.array(z.object({ dataset: z.string(), corpus: corpusSchema.nullable() })),
  conditions: z.array(conditionSchema),
  /** Best validation loss minus the baseline's of the same seed. */
  deltas: z.array(z.object({
    ...cell,
    ...summary,
    positive: z.number(),
    negative: z.number(),
    pairs: z.array(z.object({ seed: z.number(), delta: z.number() })),
    published: z.number().nullable(),
  })),
  /** Means of conditions over the data sets that every variant was run on. */
  averages: z.object({
    datasets: z.array(z.string()),
    variants: z.array(z.object({
      variant: z.string(),
      mean: z.number(),
      published: z.number().nullable(),
    })),
  }),
  curves: z.array(z.object({
    ...cell,
    seed: z.number(),
    evaluations: z.array(z.object({
      iteration: z.number(),
      trainLoss: z.number(),
      validationLoss: z.number(),
    })),
  })),
  /** Mean intensities over seeds. */
  intensities: z.array(z.object({
    ...cell,
    seeds: z.number(),
    block: z.number(),
    head: z.number().nullable(),
    byPosition: z.array(z.number()),
  })),
  claims: z.array(judgedClaimSchema),
  /** The paper's numbers put to the paper's other numbers. */
  findings: z.array(z.object({
    what: z.string(),
    printed: z.string(),
    computed: z.string(),
    agrees: z.boolean(),
  })),
  missing: z.array(z.object({ ...cell, seed: z.number() })),
});
export type Results = z.infer<typeof resultsSchema>;

/** How fast the models wrote text, and the claims about it. Never the same twice. */
export const speedsSchema = z.object({
  format: z.literal("lockstep-intensity-speeds/1"),
  variants: z.array(z.object({
    variant: z.string(),
    /** Tokens per second without and with a cache of keys and values; means over runs. */
    plain: z.number().nullable(),
    cached: z.number().nullable(),
    runs: z.number(),
    /** Mean of the paired changes from the baseline without a cache, percent. */
    change: z.number().nullable(),
    published: z.number().nullable(),
  })),
  /** Every timed run; `sha256` is that of the artifact it was read from. */
  runs: z.array(z.object({
    ...cell,
    seed: z.number(),
    plain: z.number().nullable(),
    cached: z.number().nullable(),
    sha256: z.string(),
  })),
  claims: z.array(judgedClaimSchema),
});
export type Speeds = z.infer<typeof speedsSchema>;

/**
 * The results file: everything the tables, figures and the page show, in one JSON document.
 * Accuracies, deltas and losses are fractions and nats; views turn fractions into points.
 *
 * @module
 */
import { z } from "zod";
import { judgedClaimSchema } from "./claims/claim.ts";
import { corpusSchema } from "./inputs.ts";
import { reanalysisSchema } from "./paper/numbers.ts";

const interval = z.tuple([z.number(), z.number()]).nullable();

/** A condition: everything but the seed that tells one group of runs from another. */
const condition = {
  dataset: z.string(),
  encoding: z.string(),
  operator: z.string(),
};

/** What one of the paper's tables prints for a condition, as fractions. */
const publishedCell = z.object({
  table: z.string(),
  mean: z.number(),
  spread: z.number().nullable(),
});
export type PublishedCell = z.infer<typeof publishedCell>;

const conditionSchema = z.object({
  ...condition,
  n: z.number(),
  mean: z.number(),
  sd: z.number().nullable(),
  interval,
  /** By table; none unless the data corresponds to what the paper used. */
  published: z.array(publishedCell),
  runs: z.array(z.object({
    seed: z.number(),
    accuracy: z.number(),
    correct: z.number(),
    documents: z.number(),
    lossNats: z.number(),
  })),
});
export type Condition = z.infer<typeof conditionSchema>;

const deltaSchema = z.object({
  ...condition,
  baseline: z.string(),
  n: z.number(),
  mean: z.number(),
  sd: z.number().nullable(),
  interval,
  positive: z.number(),
  negative: z.number(),
  pairs: z.array(z.object({ seed: z.number(), delta: z.number() })),
  /** Difference of the paper's two means, where one of its tables has both. */
  published: z.number().nullable(),
});
export type Delta = z.infer<typeof deltaSchema>;

const curveSchema = z.object({
  ...condition,
  seed: z.number(),
  protocol: z.string(),
  parameters: z.number(),
  steps: z.number(),
  bestEpoch: z.number(),
  epochs: z.array(z.object({
    epoch: z.number(),
    trainLoss: z.number(),
    validationLoss: z.number(),
    validationAccuracy: z.number(),
  })),
});
export type Curve = z.infer<typeof curveSchema>;

const gateSchema = z.object({
  ...condition,
  seed: z.number(),
  byPosition: z.array(z.number()),
});
export type Gate = z.infer<typeof gateSchema>;

/** The whole document. Arrays are in display order. */
export const resultsSchema = z.object({
  format: z.literal("lockstep-results/1"),
  experiment: z.string(),
  baseline: z.string(),
  confidence: z.number(),
  protocols: z.array(z.string()),
  encodings: z.array(z.string()),
  operators: z.array(z.string()),
  seeds: z.array(z.number()),
  datasets: z.array(z.object({
    dataset: z.string(),
    /** Share of the test split's majority class; null if no run was evaluated. */
    majorityShare: z.number().nullable(),
    /** Null if the corpus was not described. */
    corpus: corpusSchema.nullable(),
    /** Whether a run's model or its documents are not as large as the paper's. */
    smaller: z.boolean(),
  })),
  conditions: z.array(conditionSchema),
  deltas: z.array(deltaSchema),
  curves: z.array(curveSchema),
  gates: z.array(gateSchema),
  claims: z.array(judgedClaimSchema),
  /** What the paper's own numbers say; null if none were given. */
  paper: reanalysisSchema.nullable(),
  /** Seeds of other conditions that a condition has no run of. */
  missing: z.array(z.object({ ...condition, seed: z.number() })),
});
export type Results = z.infer<typeof resultsSchema>;
export type DatasetEntry = Results["datasets"][number];

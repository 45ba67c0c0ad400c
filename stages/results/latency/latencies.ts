/**
 * The latencies file: what timing showed and what it says of the paper's claims. Milliseconds are
 * of one batch unless named otherwise; differences are fractions.
 *
 * @module
 */
import { z } from "zod";
import { judgedClaimSchema } from "../claims/claim.ts";
import { paperLatencySchema, paperTableSchema } from "../paper/numbers.ts";

const interval = z.tuple([z.number(), z.number()]).nullable();
const summary = { n: z.number(), mean: z.number(), sd: z.number().nullable(), interval };

const timedConditionSchema = z.object({
  dataset: z.string(),
  encoding: z.string(),
  operator: z.string(),
  /** Of the seeds' medians. */
  ...summary,
  msPerDocument: z.number(),
  /** Share by which it takes longer than the baseline, timed beside it; null of the baseline. */
  change: z.object(summary).nullable(),
  /** Whether model and batch are of the paper's size and the data is not synthetic. */
  fullSize: z.boolean(),
  runs: z.array(z.object({
    seed: z.number(),
    /** Of the file that holds its timings. */
    sha256: z.string(),
    /** Over the rounds. */
    rounds: z.number(),
    median: z.number(),
    mean: z.number(),
    sd: z.number().nullable(),
    least: z.number(),
    most: z.number(),
    msPerDocument: z.number(),
    tokensPerDocument: z.number(),
  })),
});
export type TimedCondition = z.infer<typeof timedConditionSchema>;

/** The whole document. Arrays are in display order. */
export const latenciesSchema = z.object({
  format: z.literal("lockstep-latencies/1"),
  backends: z.array(z.string()),
  conditions: z.array(timedConditionSchema),
  /** How each dataset was timed. */
  settings: z.array(z.object({
    dataset: z.string(),
    documents: z.number(),
    batch: z.number(),
    tokensPerDocument: z.number(),
    warmUp: z.number(),
    rounds: z.number(),
  })),
  claims: z.array(judgedClaimSchema),
  /** What the paper says of latency, and the accuracies it prints beside them. */
  published: z.array(paperLatencySchema),
  accuracies: paperTableSchema,
});
export type Latencies = z.infer<typeof latenciesSchema>;

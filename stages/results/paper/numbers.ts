/**
 * What a paper printed, and what its numbers turn out to say.
 *
 * @module
 */
import { z } from "zod";
import { type Claim, outcomeSchema } from "../claims/claim.ts";

/** dataset → `operator` or `encoding.operator` → [mean, spread] or [mean], percent. */
export const paperTableSchema = z.record(
  z.string(),
  z.record(z.string(), z.union([z.tuple([z.number(), z.number()]), z.tuple([z.number()])])),
);
export type PaperTable = z.infer<typeof paperTableSchema>;

/** By table. */
export const tablesSchema = z.record(z.string(), paperTableSchema);
export type Tables = z.infer<typeof tablesSchema>;

/** Per-seed differences read off a figure, percentage points. */
export const seriesSchema = z.strictObject({
  figure: z.string(),
  dataset: z.string(),
  encoding: z.string().default("sinusoidal"),
  operator: z.string(),
  against: z.string().default("add"),
  /** In the order of the seeds, from the first. */
  deltas: z.array(z.number()).min(2),
});
export type Series = z.infer<typeof seriesSchema>;

/** What a paper says of latency: a table in words, a figure in bars. */
export const paperLatencySchema = z.strictObject({
  dataset: z.string(),
  encoding: z.string().default("sinusoidal"),
  table: z.string(),
  figure: z.string(),
  /** The table's words and the figure's bars; by the words from the lowest to the highest. */
  operators: z.array(z.strictObject({
    operator: z.string(),
    words: z.string(),
    milliseconds: z.number().positive(),
  })),
  /** Sizes of the paper's models and batches: only others of the same size speak of its claim. */
  size: z.record(z.string(), z.number()).default({}),
});
export type PaperLatency = z.infer<typeof paperLatencySchema>;

/** What was found in the paper's numbers. Differences are fractions. */
export const reanalysisSchema = z.object({
  series: z.array(z.object({
    figure: z.string(),
    dataset: z.string(),
    encoding: z.string(),
    operator: z.string(),
    against: z.string(),
    deltas: z.array(z.number()),
    signP: z.number(),
    ...outcomeSchema.shape,
  })),
  /** Differences of table means, tested as unpaired: the tables don't tell which runs pair. */
  tables: z.array(z.object({
    table: z.string(),
    dataset: z.string(),
    encoding: z.string(),
    operator: z.string(),
    against: z.string(),
    mean: z.number(),
    interval: z.tuple([z.number(), z.number()]),
    p: z.number(),
  })),
  findings: z.array(z.object({ agrees: z.boolean(), text: z.string() })),
});
export type Reanalysis = z.infer<typeof reanalysisSchema>;

/** What the paper printed, and how to test it. */
export interface PaperNumbers {
  readonly tables: Tables;
  readonly series: readonly Series[];
  readonly latencies: readonly PaperLatency[];
  readonly claims: readonly Claim[];
  /** Seeds behind every table cell. */
  readonly seeds: number;
  readonly baseline: string;
  readonly alpha: number;
}

/** Greatest error of a value read off a figure, points. */
export const READING_ERROR = 0.05;

/**
 * Gathers every evaluated run into one results document and the paper's tables.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { claimSchema } from "./results/claims/claim.ts";
import { paperLatencySchema, seriesSchema, tablesSchema } from "./results/paper/numbers.ts";

const params = z.strictObject({
  /** Title of the experiment, shown above the results. */
  title: z.string().default("Results"),
  /** The operator the others are paired with. */
  baseline: z.string().default("add"),
  /** Coverage of every interval. */
  confidence: z.number().gt(0).lt(1).default(0.95),
  /**
   * What the paper's tables print, in percent: table → dataset → `operator` or
   * `encoding.operator` → [mean, spread] or [mean].
   */
  published: tablesSchema.default({}),
  /** Per-seed differences read off the paper's figures, points. */
  paper_deltas: z.array(seriesSchema).default([]),
  /** What the paper says of latency. */
  paper_latencies: z.array(paperLatencySchema).default([]),
  /** Seeds behind each cell of the paper's tables. */
  paper_seeds: z.number().int().min(2).default(5),
  /** dataset → documents of the whole data set; a corpus of fewer is labelled a sample. */
  paper_documents: z.record(z.string(), z.number().int().positive()).default({}),
  /** dataset → size of the paper's model, by param; runs of another size are labelled smaller. */
  paper_models: z.record(z.string(), z.record(z.string(), z.number())).default({}),
  /** What the paper claims; those on accuracy are judged. */
  claims: z.array(claimSchema).default([]),
});

/** Validated params of `aggregate`. */
export type AggregateParams = z.infer<typeof params>;

export const aggregateFusion = defineStage({
  name: "aggregate_fusion",
  params,
  inputs: { runs: { many: true }, histories: { many: true }, corpora: { many: true } },
  outputs: {
    results: { kind: "file", exactness: "numeric" },
    // Which artifacts the results were read from.
    sources: { kind: "file", exactness: "numeric" },
    tables: { kind: "folder", exactness: "numeric", publish: () => "tables" },
  },
});

/**
 * Gathers every trained language model into one results document and the paper's tables.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { claimSchema } from "./results/intensity/claim.ts";
import { publishedSchema } from "./results/intensity/inputs.ts";

const params = z.strictObject({
  title: z.string().default("Results").describe("Title of the experiment"),
  confidence: z.number().gt(0).lt(1).default(0.95).describe("Coverage of every interval"),
  published: publishedSchema.prefault({}).describe("What the paper printed"),
  claims: z.array(claimSchema).default([]).describe(
    "What the paper claims; those on losses are judged",
  ),
});

/** Validated params of `aggregate_intensity`. */
export type AggregateIntensityParams = z.infer<typeof params>;

export const aggregateIntensity = defineStage({
  name: "aggregate_intensity",
  params,
  inputs: { runs: { many: true }, histories: { many: true }, corpora: { many: true } },
  outputs: {
    results: { kind: "file", exactness: "numeric" },
    // Which artifacts the results were read from.
    sources: { kind: "file", exactness: "numeric" },
    tables: { kind: "folder", exactness: "numeric", publish: () => "tables/intensity" },
  },
});

/**
 * Gathers how long the classifiers took, and judges what the paper claims of it. A stage of its
 * own, because whatever it writes differs each time.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { claimSchema } from "./results/claims/claim.ts";
import { paperLatencySchema, paperTableSchema } from "./results/paper/numbers.ts";

const params = z.strictObject({
  published: z.array(paperLatencySchema).default([]).describe("What the paper says of latency"),
  accuracies: paperTableSchema.default({}).describe("The paper's accuracies beside them, percent"),
  claims: z.array(claimSchema).default([]).describe(
    "What the paper claims; those on latency are judged",
  ),
});

/** Validated params of `aggregate_latency`. */
export type AggregateLatencyParams = z.infer<typeof params>;

export const aggregateLatency = defineStage({
  name: "aggregate_latency",
  params,
  inputs: { results: {}, latencies: { many: true } },
  outputs: {
    latencies: { kind: "file", exactness: "measured" },
    tables: { kind: "folder", exactness: "measured", publish: () => "tables/latency" },
  },
});

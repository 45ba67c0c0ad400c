/**
 * Gathers how fast the language models wrote text, and judges what the paper claims of it. A stage
 * of its own, because whatever it writes differs each time.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { claimSchema } from "./results/intensity/claim.ts";
import { publishedSchema } from "./results/intensity/inputs.ts";

const params = z.strictObject({
  published: publishedSchema.prefault({}).describe("What the paper printed"),
  claims: z.array(claimSchema).default([]).describe(
    "What the paper claims; those on speeds are judged",
  ),
});

/** Validated params of `aggregate_speed`. */
export type AggregateSpeedParams = z.infer<typeof params>;

export const aggregateSpeed = defineStage({
  name: "aggregate_speed",
  params,
  inputs: { results: {}, speeds: { many: true } },
  outputs: {
    speeds: { kind: "file", exactness: "measured" },
    tables: { kind: "folder", exactness: "measured", publish: () => "tables/intensity_speed" },
  },
});

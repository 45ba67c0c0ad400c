/**
 * Stage `aggregate`: from measurements to what an experiment shows of them.
 *
 * @module
 */
import { z } from "zod";
import { type Grid, gridOf } from "../analysis/grid.ts";
import { axesSchema, metricsSchema, ordered } from "../analysis/spec/axes.ts";
import { claimSchema } from "../analysis/spec/claims.ts";
import { paperSchema, publishedSchema } from "../analysis/spec/published.ts";
import { tablesSchema } from "../analysis/spec/tables.ts";
import { defineStage, type Surroundings } from "../pipeline/stage.ts";

const texts = z.array(z.string());
const grid: z.ZodType<Grid> = z.strictObject({
  values: z.record(z.string(), texts).default({}),
  exclude: z.array(z.record(z.string(), texts)).default([]),
  each: z.array(texts).default([]),
});

const params = z.strictObject({
  title: z.string().min(1).default("Results").describe("Shown above the results"),
  confidence: z.number().gt(0).lt(1).default(0.95).describe("Coverage of every interval"),
  seeds: z.string().default("seed").describe("The axis of replicates; runs are paired by it"),
  axes: axesSchema.prefault({}),
  metrics: metricsSchema.default({}),
  tables: ordered(tablesSchema).prefault({}),
  published: publishedSchema.default([]).describe("What the paper prints: published.csv"),
  paper: paperSchema.prefault({}),
  claims: z.array(claimSchema).default([]).describe("Claims that these runs can decide"),
  sensitivity: z.strictObject({
    axis: z.string().describe(
      "Axis whose values are ways to read the paper; its baseline was chosen",
    ),
    claims: z.array(claimSchema).default([]).describe("Claims that say nothing of that axis"),
  }).optional().describe("Claims to judge under each choice, to see which hang on one"),
  grid: grid.prefault({}).describe(
    "What was asked for, to say what was not measured; a plan fills it in",
  ),
  elsewhere: z.array(claimSchema).default([]).describe(
    "Claims of the same paper that other runs decide; they count in the correction of p-values",
  ),
});

/** Validated params of `aggregate`. */
export type AggregateParams = z.infer<typeof params>;

/**
 * Joins all measurements to tidy tables, judges the claims, and makes the tables. Nothing in it has a
 * meaning but what the experiment says of its axes and metrics.
 */
export const aggregate = defineStage<AggregateParams>({
  name: "aggregate",
  params,
  inputs: { measurements: { many: true } },
  outputs: {
    results: {
      kind: "file",
      content: "results",
      exactness: "numeric",
      gathers: "measurements",
      holds: ({ metrics, published }) => ({
        metric: Object.keys(metrics),
        source: published.map(({ source }) => source),
      }),
    },
    // What is said of them, and from which artifacts they were read: figures need neither.
    shown: {
      kind: "file",
      content: "shown results",
      exactness: "numeric",
      holds: ({ tables }) => ({ table: tables.map(([name]) => name) }),
    },
  },
  settle: (params, run) => ({ ...params, grid: gridOf(run, run.each["measurements"]!) }),
  check: async (params: AggregateParams, surroundings: Surroundings) => {
    const { checkNames } = await import("../analysis/spec/check.ts");
    const tables = Object.fromEntries(params.tables);
    return checkNames({ ...params, tables }, surroundings);
  },
  preview: async (params: AggregateParams) => {
    const { previewOf } = await import("../analysis/claims/preview.ts");
    return previewOf(params);
  },
});

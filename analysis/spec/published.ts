/**
 * What a paper printed, as one tidy CSV of its folder; and the sizes of its data and models.
 *
 * @module
 */
import { z } from "zod";
import { atSchema } from "./axes.ts";

/** Columns of `published.csv` that are no axes. */
export const PUBLISHED_COLUMNS = [
  "source",
  "page",
  "metric",
  "value",
  "spread",
  "n",
  "words",
] as const;

/**
 * A row of `published.csv`: fixed columns, and one for each axis of the experiment, empty where a
 * source does not say. A column `against.AXIS` makes the value a difference from that value of the
 * axis. Values are in the metric's shown unit.
 */
export const publishedSchema = z.array(
  z.looseObject({
    source: z.string().min(1).describe("Table 3, Figure 5"),
    page: z.string().default(""),
    metric: z.string().min(1),
    value: z.string().regex(/^-?\d+(\.\d+)?$/, "must be a decimal number").or(z.literal(""))
      .describe(
        "As printed: its last digit says how it was rounded",
      ),
    spread: z.string().regex(/^(\d+(\.\d+)?)?$/, "must be a decimal number or empty").default(""),
    n: z.string().regex(/^\d*$/, "must be a whole number or empty").default("").describe(
      "Seeds behind the value",
    ),
    words: z.string().default("").describe("Where a source gives words: lowest"),
  }),
);
export type Published = z.infer<typeof publishedSchema>;

/** What makes a run as large as the paper's; anything less is labelled. */
export const paperSchema = z.strictObject({
  seeds: z.int().min(2).optional().describe(
    "Seeds behind what it prints, where published.csv does not say",
  ),
  reading_error: z.number().min(0).default(0).describe("Greatest error of values read off figures"),
  whole: z.array(z.strictObject({
    at: atSchema,
    column: z.string().describe("Of the table corpora"),
    value: z.number().positive(),
  })).default([]).describe("Sizes of the whole data sets; a corpus with less is a sample"),
  size: z.array(z.strictObject({
    at: atSchema.default({}),
    table: z.string().default("runs"),
    equals: z.record(z.string(), z.number()).default({}),
    at_least: z.record(z.string(), z.number()).default({}),
    says: z.string().default("smaller model").describe("How a run is labelled that falls short"),
  })).default([]).describe("Sizes of the paper's models and trainings"),
});
export type Paper = z.infer<typeof paperSchema>;

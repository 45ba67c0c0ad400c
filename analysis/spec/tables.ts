/**
 * How an experiment declares its tables: pivots and lists of tidy tables.
 *
 * @module
 */
import { z } from "zod";
import { atSchema, fileNameSchema, whereSchema } from "./axes.ts";

/** What a cell shows of a condition's runs. */
export const SHOWS = [
  "mean_sd", // 91.15 ± 0.08, or 91.15 (1 seed)
  "mean",
  "sd",
  "interval", // of the mean
  "n",
  "min_max", // 2–5
  "change", // mean paired change from the axis's baseline, or from `against`
  "change_sd",
  "change_interval",
  "wins_losses", // seeds in which it is better / worse than the baseline
  "published", // what `source` prints
  "published_change",
] as const;

const measure = z.strictObject({
  metric: z.string().optional(),
  column: z.string().optional().describe("A column of the table where it is no metric"),
  show: z.enum(SHOWS).default("mean_sd"),
  against: atSchema.optional().describe(
    "Of changes; by default the baseline of the axis that has one",
  ),
  over: z.array(z.string()).default([]).describe("Axes to average over before seeds are"),
  where: whereSchema.optional(),
  source: z.string().optional().describe("Of published: Table 3"),
  title: z.string().min(1).optional(),
  digits: z.int().min(0).max(10).optional(),
});

const common = {
  caption: z.string().min(1),
  notes: z.array(z.string().min(1)).default([]),
  where: whereSchema.default({}),
};

/** Conditions as rows: one for each combination of `rows` that ran. */
const summary = z.strictObject({
  ...common,
  table: z.string().default("runs"),
  rows: z.array(z.string()).min(1).describe("Axes; the first groups the rows"),
  across: z.string().optional().describe("An axis with a column for each of its values"),
  columns: z.array(measure).min(1).describe("With across: one measure"),
  published: z.string().optional().describe("With across: a source, shown below each row of ours"),
});

/** Rows of a tidy table as they are. */
const list = z.strictObject({
  ...common,
  list: z.string().describe("The tidy table"),
  columns: z.array(z.strictObject({
    column: z.string().describe("A column, an axis or a metric"),
    title: z.string().min(1).optional(),
    digits: z.int().min(0).max(10).optional(),
    scale: z.number().positive().default(1),
    unit: z.string().default(""),
  })).min(1),
  group: z.string().optional().describe("Axis whose equal values are shown once"),
});

/** Names of tables that every analysis has; declared ones have others. */
export const BUILT_IN: readonly string[] = [
  ...[
    "claims",
    "comparisons",
    "chances",
    "sensitivity",
    "paper_figures",
    "paper_tables",
    "findings",
  ],
  ...["every_run", "every_pair"],
];

/** Tables by name, which is their file's; in display order. */
export const tablesSchema = z.record(fileNameSchema, z.union([summary, list]));
export type SummaryTable = z.infer<typeof summary>;
export type ListTable = z.infer<typeof list>;
export type Tables = z.infer<typeof tablesSchema>;
export type Measure = z.infer<typeof measure>;

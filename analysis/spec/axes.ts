/**
 * How an experiment describes its axes and its metrics: names, order, units, formats. Code knows none
 * of them.
 *
 * @module
 */
import { z } from "zod";

/**
 * The schema of a map whose order is shown: its parsed value is the list of its entries, since a stage
 * gets its params with sorted keys.
 */
export function ordered<T>(schema: z.ZodType<Record<string, T>>) {
  return schema.transform((map): readonly (readonly [name: string, value: T])[] =>
    Object.entries(map)
  );
}

const text = z.string().min(1);

/** The name of a table or a figure, which is also its files'. */
export const fileNameSchema = z.string().regex(
  /^[a-z][a-z0-9_]*$/,
  "must be lower-case letters, digits and underscores, starting with a letter",
);

/** Some coordinates: axis to value, or to several. */
export const whereSchema = z.record(
  z.string(),
  z.union([text, z.number(), z.array(z.union([text, z.number()]))]),
);
export type Where = z.infer<typeof whereSchema>;

/** Coordinates that name one value of each axis. */
export const atSchema = z.record(z.string(), z.union([text, z.number()]).transform(String));

const axisSchema = z.strictObject({
  title: text.describe("Name of the axis, as a column's title has it"),
  baseline: z.union([text, z.number()]).transform(String).optional().describe(
    "The value that the others are compared with",
  ),
  values: ordered(z.record(
    z.string(),
    z.union([
      text,
      z.strictObject({
        title: text,
        short: text.optional().describe("For column heads and legends; the title if left out"),
        note: text.optional().describe("A sentence below every table that shows the value"),
      }),
    ]),
  )).prefault({}).describe(
    "Values in display order, with their titles; others follow by number or name, as they are",
  ),
});

/** Axes in display order. */
export const axesSchema = ordered(z.record(z.string(), axisSchema));
export type Axes = z.infer<typeof axesSchema>;

const metricSchema = z.strictObject({
  title: text.describe("Test accuracy"),
  table: z.string().default("runs").describe("The tidy table that has it"),
  column: z.string().optional().describe("Its column; by default the metric's name"),
  unit: z.string().default("").describe("Of what is shown: percent"),
  scale: z.number().positive().default(1).describe("From the column to what is shown: 100"),
  digits: z.int().min(0).max(10).default(2).describe("Decimals shown"),
  better: z.enum(["greater", "less"]).optional(),
  change: z.enum(["difference", "ratio"]).default("difference").describe(
    "How two conditions are compared: by a difference in the shown unit, or by a ratio, whose " +
      "logarithms are averaged and which is shown in percent",
  ),
  within: z.string().optional().describe(
    "A column: conditions are compared at each of its values, and the median is taken",
  ),
  same: z.array(z.string()).default([]).describe(
    "Columns that must agree between runs that are compared, such as the number of documents",
  ),
  timed: z.boolean().optional().describe(
    "It depends on the machine: tables that show it say so",
  ),
  floor: atSchema.optional().describe(
    "A condition that does what the baseline does: how far it differs is the instrument's noise, and " +
      "a change that is no larger is not resolved",
  ),
  max: z.number().optional().describe("No interval or axis goes beyond it, as shown: 100"),
});

/** Metrics by name. */
export const metricsSchema = z.record(z.string(), metricSchema);
export type Metrics = z.infer<typeof metricsSchema>;
export type Metric = z.infer<typeof metricSchema>;

/**
 * How an experiment declares its figures: templates over tidy tables, diagrams, and Vega-Lite.
 *
 * @module
 */
import { z } from "zod";
import { atSchema, fileNameSchema, whereSchema } from "./axes.ts";

const common = {
  title: z.string().min(1),
  where: whereSchema.default({}),
  panels: z.array(z.string()).default([]).describe("Axes: one panel for each combination"),
  width: z.int().min(240).max(3000).default(440).describe("Pixels of a plotting area"),
};

const rows = { ...common, metric: z.string(), rows: z.array(z.string()).min(1) };

/** A row for each condition: seeds, mean, interval, and what the paper prints. */
const forest = z.strictObject({
  ...rows,
  template: z.literal("forest"),
  show: z.enum(["values", "changes"]).default("values"),
  against: atSchema.optional().describe(
    "Of changes; by default the baseline of the axis that has one",
  ),
  sources: z.array(z.string()).default([]).describe("What the paper printed: Table 3"),
});

/** The paper's own values for each seed, a panel for each source. */
const published = z.strictObject({
  ...rows,
  template: z.literal("published"),
  sources: z.array(z.string()).min(1),
});

/** Means as bars. */
const bars = z.strictObject({
  ...rows,
  template: z.literal("bars"),
  change: z.boolean().default(false).describe("Write the change from the baseline beside the bar"),
  axis: z.enum(["shared", "own"]).default("shared").describe(
    "own: for panels that are not compared, such as milliseconds of different machines",
  ),
  sources: z.array(z.string()).default([]).describe("Each is a panel of its own"),
});

/** Lines over a column: a mean for each condition, its seeds faint or as a band. */
const curves = z.strictObject({
  ...common,
  template: z.literal("curves"),
  table: z.string(),
  x: z.strictObject({
    column: z.string(),
    title: z.string(),
    from: z.number().optional().describe("Leaves out what comes before, such as the start"),
  }),
  y: z.array(z.strictObject({
    column: z.string(),
    title: z.string(),
    scale: z.number().positive().default(1),
    digits: z.int().min(0).max(10).default(2),
    domain: z.tuple([z.number(), z.number()]).optional().describe("Ends of the axis, as shown"),
  })).min(1).describe("A row of panels for each"),
  series: z.array(z.string()).min(1).describe(
    "Axes and columns: a colour and a dash for each combination",
  ),
  lines: z.array(z.string()).default([]).describe(
    "Columns that tell lines of one colour apart, such as heads; each is then a mean over seeds",
  ),
  against: atSchema.optional().describe("Shows differences from this condition, seed by seed"),
  marks: z.enum(["band", "seeds"]).default("seeds").describe(
    "Around the mean: a band of min and max, or a faint line for each seed",
  ),
});

const box = z.strictObject({
  x: z.number(),
  y: z.number(),
  text: z.string(),
  note: z.string().optional(),
  kind: z.enum(["data", "step", "learned"]),
  width: z.number().positive().optional(),
});

/** Boxes and arrows. */
const diagram = z.strictObject({
  template: z.literal("diagram"),
  title: z.string().min(1),
  description: z.string().min(1).describe("The diagram in words, for those who can't see it"),
  legend: z.string().optional(),
  panels: z.array(z.strictObject({
    heading: z.string(),
    equation: z.string(),
    width: z.number().positive(),
    boxes: z.record(z.string(), box),
    arrows: z.array(z.tuple([z.string(), z.string()])),
  })).min(1),
  height: z.number().positive(),
});

/** A specification of one's own over tidy tables: `data: { name: runs }`. */
const vegaLite = z.strictObject({
  template: z.literal("vega-lite"),
  title: z.string().min(1),
  description: z.string().min(1),
  spec: z.record(z.string(), z.unknown()),
});

/** Figures by name, which is their file's; in display order. */
export const figuresSchema = z.record(
  fileNameSchema,
  z.discriminatedUnion("template", [forest, published, bars, curves, diagram, vegaLite]),
);
export type Figures = z.infer<typeof figuresSchema>;
export type Figure = Figures[string];
export type Forest = z.infer<typeof forest>;
export type PublishedFigure = z.infer<typeof published>;
export type Bars = z.infer<typeof bars>;
export type Curves = z.infer<typeof curves>;
export type Diagram = z.infer<typeof diagram>;
export type VegaLite = z.infer<typeof vegaLite>;

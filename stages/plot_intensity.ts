/**
 * Draws one kind of figure of the language models, as SVG and PNG.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  kind: z.enum(["losses", "intensities"]).describe(
    "losses: the paper's Figure 1; intensities: what the predictors say, by position and head",
  ),
  title: z.string().min(1).optional().describe("Replaces the figure's own title"),
  width: z.number().int().min(240).max(3000).default(880).describe(
    "Pixels for all plotting areas of a row together, without labels",
  ),
  scale: z.number().min(0.5).max(8).default(2).describe("PNG pixels per SVG pixel"),
});

/** Validated params of `plot_intensity`. */
export type PlotIntensityParams = z.infer<typeof params>;

export const plotIntensity = defineStage({
  name: "plot_intensity",
  params,
  inputs: { results: {} },
  outputs: {
    figures: { kind: "folder", exactness: "numeric", publish: () => "figures/intensity" },
  },
});

/**
 * Draws one kind of figure from the results, as SVG and PNG.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { paperTableSchema } from "./results/paper/numbers.ts";

const params = z.strictObject({
  /**
   * `delta`: paired differences from the baseline; `curves`: accuracy and loss by epoch;
   * `published`: the paper's own per-seed figures; `accuracy`: accuracies beside the paper's;
   * `accuracy_bars`: mean accuracies as bars; `gates`: gate values by position; `operators`: a
   * diagram of the fusion operators.
   */
  kind: z.enum([
    "delta",
    "curves",
    "published",
    "accuracy",
    "accuracy_bars",
    "gates",
    "operators",
  ]),
  /** For `accuracy_bars`: what the paper's bars show, percent. */
  published: paperTableSchema.default({}),
  /** Replaces the figure's own title. */
  title: z.string().min(1).optional(),
  /** Width of the plotting area in pixels, without labels. */
  width: z.number().int().min(240).max(2000).default(440),
  /** PNG pixels per SVG pixel. */
  scale: z.number().min(0.5).max(8).default(2),
});

/** Validated params of `plot_fusion`. */
export type PlotFusionParams = z.infer<typeof params>;

export const plotFusion = defineStage({
  name: "plot_fusion",
  params,
  inputs: { results: {} },
  outputs: { figures: { kind: "folder", exactness: "numeric", publish: () => "figures" } },
});

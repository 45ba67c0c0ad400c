/**
 * Draws all figures of an experiment from its results, each as SVG and PNG.
 *
 * @module
 */
import { z } from "zod";
import { figureViolations } from "../analysis/figures/check.ts";
import { figuresSchema } from "../analysis/spec/figures.ts";
import { defineStage, namesIn, tablesTogether } from "../pipeline/stage.ts";

const params = z.strictObject({
  figures: figuresSchema.describe("Figures by name, which is their file's"),
  scale: z.number().min(0.5).max(8).default(2).describe("PNG pixels per SVG pixel"),
});

/** Validated params of `plot`. */
export type PlotParams = z.infer<typeof params>;

export const plot = defineStage({
  name: "plot",
  params,
  inputs: { results: { content: "results" } },
  outputs: {
    figures: {
      kind: "folder",
      content: "figures",
      exactness: "numeric",
      publish: () => "figures",
      holds: ({ figures }) => ({ figure: Object.keys(figures) }),
    },
  },
  check({ figures }, { axes, inputs: { results } }) {
    const known = {
      axes,
      metrics: namesIn(results, "metric"),
      sources: namesIn(results, "source"),
      tables: results && tablesTogether(results.map(({ measures }) => measures)),
    };
    return figureViolations(figures, known)
      .map(({ path, message }) => ({ path: ["figures", ...path], message }));
  },
});

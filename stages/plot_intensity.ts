/**
 * Draws one kind of figure of the language models, as SVG and PNG.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { renderPng, renderSvg } from "./results/chart/render.ts";
import { readJson } from "./results/inputs.ts";
import { lossChart } from "./results/intensity/loss_chart.ts";
import { profileChart } from "./results/intensity/profile_chart.ts";
import { resultsSchema } from "./results/intensity/results.ts";

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

export const plotIntensity = defineStage({
  name: "plot_intensity",
  params,
  inputs: { results: {} },
  outputs: {
    figures: { kind: "folder", exactness: "numeric", publish: () => "figures/intensity" },
  },
  async run(context) {
    const { kind, title, width, scale } = context.params;
    const { path } = context.input("results");
    const results = readJson(path, resultsSchema, { what: "aggregate_intensity.results" });
    const chart = (kind === "losses" ? lossChart : profileChart)(results, { title, width });
    const svg = await renderSvg(chart);
    const folder = context.output("figures");
    Deno.writeTextFileSync(join(folder, `${kind}.svg`), svg);
    Deno.writeFileSync(join(folder, `${kind}.png`), await renderPng(svg, { scale }));
  },
});

/**
 * Draws one kind of figure from the results, as SVG and PNG.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { accuracyChart } from "./results/chart/accuracy_chart.ts";
import { accuracyBars } from "./results/chart/bars_chart.ts";
import { curvesChart } from "./results/chart/curves_chart.ts";
import { deltaChart } from "./results/chart/delta_chart.ts";
import { gatesChart } from "./results/chart/gates_chart.ts";
import { operatorsSvg } from "./results/chart/operator_diagrams.ts";
import { publishedChart } from "./results/chart/published_chart.ts";
import { renderPng, renderSvg } from "./results/chart/render.ts";
import { readJson } from "./results/inputs.ts";
import { paperTableSchema } from "./results/paper/numbers.ts";
import { type Results, resultsSchema } from "./results/results.ts";

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
type Params = z.infer<typeof params>;

export const plot = defineStage({
  name: "plot",
  params,
  inputs: { results: {} },
  outputs: { figures: { kind: "folder", exactness: "numeric", publish: () => "figures" } },
  async run(context) {
    const { params } = context;
    const { path } = context.input("results");
    const results = readJson(path, resultsSchema, { what: "aggregate.results" });
    const folder = context.output("figures");
    const svg = await drawSvg(results, params);
    const png = await renderPng(svg, { scale: params.scale });
    Deno.writeTextFileSync(join(folder, `${params.kind}.svg`), svg);
    Deno.writeFileSync(join(folder, `${params.kind}.png`), png);
  },
});

async function drawSvg(results: Results, params: Params): Promise<string> {
  const { title, width } = params;
  switch (params.kind) {
    case "delta":
      return await renderSvg(deltaChart(results, { title, width }));
    case "curves":
      return await renderSvg(curvesChart(results, { title, width }));
    case "published":
      return await renderSvg(publishedChart(results, { title, width }));
    case "accuracy":
      return await renderSvg(accuracyChart(results, { title, width }));
    case "accuracy_bars":
      return await renderSvg(accuracyBars(results, { title, width, published: params.published }));
    case "gates":
      return await renderSvg(gatesChart(results, { title, width }));
    case "operators":
      return operatorsSvg({ title });
  }
}

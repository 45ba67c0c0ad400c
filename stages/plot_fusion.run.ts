/**
 * Runs stage `plot_fusion`, which `plot_fusion.ts` declares.
 *
 * @module
 */
import { join } from "node:path";
import type { StageContext } from "../pipeline/stage.ts";
import { accuracyChart } from "./results/chart/accuracy_chart.ts";
import { accuracyBars } from "./results/chart/bars_chart.ts";
import { curvesChart } from "./results/chart/curves_chart.ts";
import { deltaChart } from "./results/chart/delta_chart.ts";
import { gatesChart } from "./results/chart/gates_chart.ts";
import { operatorsSvg } from "./results/chart/operator_diagrams.ts";
import { publishedChart } from "./results/chart/published_chart.ts";
import { renderPng, renderSvg } from "../analysis/figures/render.ts";
import { readJson } from "./results/inputs.ts";
import { type Results, resultsSchema } from "./results/results.ts";
import type { PlotFusionParams } from "./plot_fusion.ts";

export async function run(context: StageContext<PlotFusionParams>): Promise<void> {
  const { params } = context;
  const { path } = context.input("results");
  const results = readJson(path, resultsSchema, { what: "aggregate.results" });
  const folder = context.output("figures");
  const svg = await drawSvg(results, params);
  const png = await renderPng(svg, { scale: params.scale });
  Deno.writeTextFileSync(join(folder, `${params.kind}.svg`), svg);
  Deno.writeFileSync(join(folder, `${params.kind}.png`), png);
}

async function drawSvg(results: Results, params: PlotFusionParams): Promise<string> {
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

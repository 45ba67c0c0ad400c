/**
 * Runs stage `plot_intensity`, which `plot_intensity.ts` declares.
 *
 * @module
 */
import { join } from "node:path";
import type { StageContext } from "../pipeline/stage.ts";
import { renderPng, renderSvg } from "../analysis/figures/render.ts";
import { readJson } from "./results/inputs.ts";
import { lossChart } from "./results/intensity/loss_chart.ts";
import { profileChart } from "./results/intensity/profile_chart.ts";
import { resultsSchema } from "./results/intensity/results.ts";
import type { PlotIntensityParams } from "./plot_intensity.ts";

export async function run(context: StageContext<PlotIntensityParams>): Promise<void> {
  const { kind, title, width, scale } = context.params;
  const { path } = context.input("results");
  const results = readJson(path, resultsSchema, { what: "aggregate_intensity.results" });
  const chart = (kind === "losses" ? lossChart : profileChart)(results, { title, width });
  const svg = await renderSvg(chart);
  const folder = context.output("figures");
  Deno.writeTextFileSync(join(folder, `${kind}.svg`), svg);
  Deno.writeFileSync(join(folder, `${kind}.png`), await renderPng(svg, { scale }));
}

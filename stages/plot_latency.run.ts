/**
 * Runs stage `plot_latency`, which `plot_latency.ts` declares.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import type { StageContext } from "../pipeline/stage.ts";
import { latencyBars } from "./results/chart/bars_chart.ts";
import { renderPng, renderSvg } from "../analysis/figures/render.ts";
import { readJson } from "./results/inputs.ts";
import { latenciesSchema } from "./results/latency/latencies.ts";
import { resultsSchema } from "./results/results.ts";
import type { PlotLatencyParams } from "./plot_latency.ts";

export async function run(context: StageContext<PlotLatencyParams>): Promise<void> {
  const { title, width, scale } = context.params;
  const read = <T>(name: string, schema: z.ZodType<T>, what: string) =>
    readJson(context.input(name).path, schema, { what });
  const results = read("results", resultsSchema, "aggregate.results");
  const latencies = read("latencies", latenciesSchema, "aggregate_latency.latencies");
  const svg = await renderSvg(latencyBars(results, { latencies, title, width }));
  const folder = context.output("figures");
  Deno.writeTextFileSync(join(folder, "latency.svg"), svg);
  Deno.writeFileSync(join(folder, "latency.png"), await renderPng(svg, { scale }));
}

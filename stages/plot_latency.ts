/**
 * Draws latencies, as SVG and PNG. A stage of its own, because they differ each time.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { latencyBars } from "./results/chart/bars_chart.ts";
import { renderPng, renderSvg } from "./results/chart/render.ts";
import { readJson } from "./results/inputs.ts";
import { latenciesSchema } from "./results/latency/latencies.ts";
import { resultsSchema } from "./results/results.ts";

const params = z.strictObject({
  title: z.string().min(1).optional().describe("Replaces the figure's own title"),
  width: z.int().min(240).max(2000).default(440).describe("Pixels of the plotting area"),
  scale: z.number().min(0.5).max(8).default(2).describe("PNG pixels per SVG pixel"),
});

export const plotLatency = defineStage({
  name: "plot_latency",
  params,
  inputs: { results: {}, latencies: {} },
  outputs: { figures: { kind: "folder", exactness: "measured", publish: () => "figures" } },
  async run(context) {
    const { title, width, scale } = context.params;
    const read = <T>(name: string, schema: z.ZodType<T>, what: string) =>
      readJson(context.input(name).path, schema, { what });
    const results = read("results", resultsSchema, "aggregate.results");
    const latencies = read("latencies", latenciesSchema, "aggregate_latency.latencies");
    const svg = await renderSvg(latencyBars(results, { latencies, title, width }));
    const folder = context.output("figures");
    Deno.writeTextFileSync(join(folder, "latency.svg"), svg);
    Deno.writeFileSync(join(folder, "latency.png"), await renderPng(svg, { scale }));
  },
});

/**
 * Draws latencies, as SVG and PNG. A stage of its own, because they differ each time.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({
  title: z.string().min(1).optional().describe("Replaces the figure's own title"),
  width: z.int().min(240).max(2000).default(440).describe("Pixels of the plotting area"),
  scale: z.number().min(0.5).max(8).default(2).describe("PNG pixels per SVG pixel"),
});

/** Validated params of `plot_latency`. */
export type PlotLatencyParams = z.infer<typeof params>;

export const plotLatency = defineStage({
  name: "plot_latency",
  params,
  inputs: { results: {}, latencies: {} },
  outputs: { figures: { kind: "folder", exactness: "measured", publish: () => "figures" } },
});

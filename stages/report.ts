/**
 * Writes the report: one self-contained page with the tables, the figures and what they rest on.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({});

/** Validated params of `report`. */
export type ReportParams = z.infer<typeof params>;

export const report = defineStage({
  name: "report",
  params,
  inputs: {
    results: {},
    sources: {},
    latencies: {},
    tables: {},
    latency_tables: {},
    figures: { many: true },
  },
  // It shows latencies, which differ each time.
  outputs: {
    page: { kind: "file", exactness: "measured", publish: () => "report.html" },
  },
});

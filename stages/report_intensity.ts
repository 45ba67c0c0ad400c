/**
 * Writes the report on the language models: one self-contained page.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const params = z.strictObject({});

/** Validated params of `report_intensity`. */
export type ReportIntensityParams = z.infer<typeof params>;

export const reportIntensity = defineStage({
  name: "report_intensity",
  params,
  inputs: {
    results: {},
    sources: {},
    speeds: {},
    tables: {},
    speed_tables: {},
    figures: { many: true },
  },
  // It shows speeds, which differ each time.
  outputs: {
    page: { kind: "file", exactness: "measured", publish: () => "report.html" },
  },
});

/**
 * Measurement files as stages write them. Nothing here is a result.
 *
 * @module
 */
import { join } from "node:path";
import { createHash } from "node:crypto";
import { type Measurements, measurementsText } from "../../../analysis/tidy/measurements.ts";
import type { At } from "../../../analysis/tidy/table.ts";
import { type StudyParams } from "../../../analysis/tidy/study_of.ts";
import { axesSchema, metricsSchema } from "../../../analysis/spec/axes.ts";
import { paperSchema, publishedSchema } from "../../../analysis/spec/published.ts";
import { artifact } from "../../rig/run_stage.ts";
import { temporaryFolder } from "../../rig/temporary.ts";

/** A measurement file below a folder of its own. */
export function measured(at: At, tables: Measurements) {
  const text = measurementsText(tables);
  const path = join(temporaryFolder(), createHash("sha256").update(text).digest("hex"));
  Deno.writeTextFileSync(path, text);
  return artifact(path, at);
}

/** Params of a study as an experiment file has them. */
export function studyParams(written: {
  readonly axes?: unknown;
  readonly metrics?: unknown;
  readonly published?: unknown;
  readonly paper?: unknown;
} = {}): StudyParams {
  return {
    title: "Made up",
    confidence: 0.95,
    seeds: "seed",
    axes: axesSchema.parse(written.axes ?? {}),
    metrics: metricsSchema.parse(written.metrics ?? { accuracy: { title: "Accuracy" } }),
    published: publishedSchema.parse(written.published ?? []),
    paper: paperSchema.parse(written.paper ?? {}),
  };
}

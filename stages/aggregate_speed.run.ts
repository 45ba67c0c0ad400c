/**
 * Runs stage `aggregate_speed`, which `aggregate_speed.ts` declares.
 *
 * @module
 */
import type { StageContext } from "../pipeline/stage.ts";
import { artifactJson, locatedJson, readJson } from "./results/inputs.ts";
import { claimsTable, comparisonsTable } from "./results/intensity/claim_tables.ts";
import { speedSchema } from "./results/intensity/inputs.ts";
import { resultsSchema } from "./results/intensity/results.ts";
import { timedTable } from "./results/intensity/run_tables.ts";
import { assembleSpeeds } from "./results/intensity/speeds.ts";
import { speedTable } from "./results/intensity/tables.ts";
import { writeTable } from "./results/table.ts";
import type { AggregateSpeedParams } from "./aggregate_speed.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<AggregateSpeedParams>): Promise<void> {
  const { path } = context.input("results");
  const results = readJson(path, resultsSchema, { what: "aggregate_intensity.results" });
  const speeds = assembleSpeeds(locatedJson(context, "speeds", speedSchema), {
    ...context.params,
    conditions: results.conditions,
    confidence: results.confidence,
  });
  Deno.writeTextFileSync(context.output("speeds"), artifactJson(speeds));

  const folder = context.output("tables");
  writeTable(folder, speedTable(results, speeds));
  writeTable(folder, timedTable(results, speeds));
  if (speeds.claims.length > 0) {
    writeTable(folder, claimsTable(speeds.claims));
    writeTable(folder, comparisonsTable(results, speeds.claims));
  }
}

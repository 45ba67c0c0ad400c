/**
 * Runs stage `aggregate_latency`, which `aggregate_latency.ts` declares.
 *
 * @module
 */
import type { StageContext } from "../pipeline/stage.ts";
import { claimsTable, comparisonsTable } from "./results/claims/claims_table.ts";
import { artifactJson, latencySchema, locatedJson, readJson } from "./results/inputs.ts";
import { assembleLatencies } from "./results/latency/assemble.ts";
import { latencyTable, timingTable } from "./results/latency/latency_tables.ts";
import { resultsSchema } from "./results/results.ts";
import { writeTable } from "./results/table.ts";
import type { AggregateLatencyParams } from "./aggregate_latency.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<AggregateLatencyParams>): Promise<void> {
  const { published, accuracies, claims } = context.params;
  const { path } = context.input("results");
  const results = readJson(path, resultsSchema, { what: "aggregate.results" });
  const latencies = assembleLatencies(
    locatedJson(context, "latencies", latencySchema),
    { results, published, accuracies, claims },
  );
  Deno.writeTextFileSync(context.output("latencies"), artifactJson(latencies));

  const folder = context.output("tables");
  if (latencies.conditions.length > 0) {
    writeTable(folder, latencyTable(results, latencies));
    writeTable(folder, timingTable(results, latencies));
  }
  if (latencies.claims.length > 0) {
    writeTable(folder, claimsTable(latencies.claims));
    writeTable(folder, comparisonsTable(results, latencies.claims));
  }
}

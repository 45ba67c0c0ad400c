/**
 * Gathers how long the classifiers took, and judges what the paper claims of it. A stage of its
 * own, because whatever it writes differs each time.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { claimSchema } from "./results/claims/claim.ts";
import { claimsTable, comparisonsTable } from "./results/claims/claims_table.ts";
import { artifactJson, latencySchema, locatedJson, readJson } from "./results/inputs.ts";
import { assembleLatencies } from "./results/latency/assemble.ts";
import { latencyTable, timingTable } from "./results/latency/latency_tables.ts";
import { paperLatencySchema, paperTableSchema } from "./results/paper/numbers.ts";
import { resultsSchema } from "./results/results.ts";
import { writeTable } from "./results/table.ts";

const params = z.strictObject({
  published: z.array(paperLatencySchema).default([]).describe("What the paper says of latency"),
  accuracies: paperTableSchema.default({}).describe("The paper's accuracies beside them, percent"),
  claims: z.array(claimSchema).default([]).describe(
    "What the paper claims; those on latency are judged",
  ),
});

export const aggregateLatency = defineStage({
  name: "aggregate_latency",
  params,
  inputs: { results: {}, latencies: { many: true } },
  outputs: {
    latencies: { kind: "file", exactness: "measured" },
    tables: { kind: "folder", exactness: "measured", publish: () => "tables/latency" },
  },
  // deno-lint-ignore require-await
  async run(context) {
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
  },
});

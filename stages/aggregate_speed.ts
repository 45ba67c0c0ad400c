/**
 * Gathers how fast the language models wrote text, and judges what the paper claims of it. A stage
 * of its own, because whatever it writes differs each time.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { artifactJson, locatedJson, readJson } from "./results/inputs.ts";
import { claimSchema } from "./results/intensity/claim.ts";
import { claimsTable, comparisonsTable } from "./results/intensity/claim_tables.ts";
import { publishedSchema, speedSchema } from "./results/intensity/inputs.ts";
import { resultsSchema } from "./results/intensity/results.ts";
import { timedTable } from "./results/intensity/run_tables.ts";
import { assembleSpeeds } from "./results/intensity/speeds.ts";
import { speedTable } from "./results/intensity/tables.ts";
import { writeTable } from "./results/table.ts";

const params = z.strictObject({
  published: publishedSchema.prefault({}).describe("What the paper printed"),
  claims: z.array(claimSchema).default([]).describe(
    "What the paper claims; those on speeds are judged",
  ),
});

export const aggregateSpeed = defineStage({
  name: "aggregate_speed",
  params,
  inputs: { results: {}, speeds: { many: true } },
  outputs: {
    speeds: { kind: "file", exactness: "measured" },
    tables: { kind: "folder", exactness: "measured", publish: () => "tables/intensity_speed" },
  },
  // deno-lint-ignore require-await
  async run(context) {
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
  },
});

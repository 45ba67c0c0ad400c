/**
 * Gathers every trained language model into one results document and the paper's tables.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { artifactJson, corpusSchema, locatedJson } from "./results/inputs.ts";
import { assembleResults } from "./results/intensity/assemble.ts";
import { claimSchema } from "./results/intensity/claim.ts";
import { historySchema, metricsSchema, publishedSchema } from "./results/intensity/inputs.ts";
import { claimsTable, comparisonsTable, findingsTable } from "./results/intensity/claim_tables.ts";
import { differenceTable, lossTable, runRows, textTable } from "./results/intensity/tables.ts";
import { csvText, writeTable } from "./results/table.ts";

const params = z.strictObject({
  title: z.string().default("Results").describe("Title of the experiment"),
  confidence: z.number().gt(0).lt(1).default(0.95).describe("Coverage of every interval"),
  published: publishedSchema.prefault({}).describe("What the paper printed"),
  claims: z.array(claimSchema).default([]).describe(
    "What the paper claims; those on losses are judged",
  ),
});

export const aggregateIntensity = defineStage({
  name: "aggregate_intensity",
  params,
  inputs: { runs: { many: true }, histories: { many: true }, corpora: { many: true } },
  outputs: {
    results: { kind: "file", exactness: "numeric" },
    tables: { kind: "folder", exactness: "numeric", publish: () => "tables/intensity" },
  },
  // deno-lint-ignore require-await
  async run(context) {
    const { params } = context;
    const results = assembleResults({
      runs: locatedJson(context, "runs", metricsSchema),
      histories: locatedJson(context, "histories", historySchema),
      corpora: locatedJson(context, "corpora", corpusSchema),
    }, {
      experiment: params.title,
      confidence: params.confidence,
      published: params.published,
      claims: params.claims,
    });
    Deno.writeTextFileSync(context.output("results"), artifactJson(results));

    const folder = context.output("tables");
    for (const table of [lossTable(results), differenceTable(results), textTable(results)]) {
      if (table.rows.length > 0) writeTable(folder, table);
    }
    if (results.findings.length > 0) writeTable(folder, findingsTable(results));
    const rows = runRows(results);
    Deno.writeTextFileSync(join(folder, "losses.csv"), csvText(rows.columns, rows.rows));
    if (results.claims.length > 0) {
      writeTable(folder, claimsTable(results.claims));
      writeTable(folder, comparisonsTable(results, results.claims));
    }

    for (const delta of results.deltas) {
      context.metric(`delta.${delta.dataset}.${delta.variant}`, delta.mean);
    }
  },
});

/**
 * Gathers every evaluated run into one results document and the paper's tables.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { accuracyTable, conditionRows } from "./results/accuracy_table.ts";
import { claimSchema } from "./results/claims/claim.ts";
import { claimsTable, comparisonsTable } from "./results/claims/claims_table.ts";
import { assembleResults } from "./results/assemble.ts";
import { datasetsByEncoding, encodingsByDataset, encodingTable } from "./results/encoding_table.ts";
import { deltaTable, pairRows } from "./results/delta_table.ts";
import {
  artifactJson,
  corpusSchema,
  historySchema,
  locatedJson,
  metricsSchema,
} from "./results/inputs.ts";
import { findingsTable, paperSeriesTable, paperTable } from "./results/paper/paper_tables.ts";
import { paperLatencySchema, seriesSchema, tablesSchema } from "./results/paper/numbers.ts";
import { lengthTable } from "./results/length_table.ts";
import { csvText, writeTable } from "./results/table.ts";

const params = z.strictObject({
  /** Title of the experiment, shown above the results. */
  title: z.string().default("Results"),
  /** The operator the others are paired with. */
  baseline: z.string().default("add"),
  /** Coverage of every interval. */
  confidence: z.number().gt(0).lt(1).default(0.95),
  /**
   * What the paper's tables print, in percent: table → dataset → `operator` or
   * `encoding.operator` → [mean, spread] or [mean].
   */
  published: tablesSchema.default({}),
  /** Per-seed differences read off the paper's figures, points. */
  paper_deltas: z.array(seriesSchema).default([]),
  /** What the paper says of latency. */
  paper_latencies: z.array(paperLatencySchema).default([]),
  /** Seeds behind each cell of the paper's tables. */
  paper_seeds: z.number().int().min(2).default(5),
  /** dataset → documents of the whole data set; a corpus of fewer is labelled a sample. */
  paper_documents: z.record(z.string(), z.number().int().positive()).default({}),
  /** What the paper claims; those on accuracy are judged. */
  claims: z.array(claimSchema).default([]),
});

export const aggregate = defineStage({
  name: "aggregate",
  params,
  inputs: { runs: { many: true }, histories: { many: true }, corpora: { many: true } },
  outputs: {
    results: { kind: "file", exactness: "numeric" },
    tables: { kind: "folder", exactness: "numeric", publish: () => "tables" },
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
      baseline: params.baseline,
      confidence: params.confidence,
      published: params.published,
      paperDeltas: params.paper_deltas,
      paperLatencies: params.paper_latencies,
      paperSeeds: params.paper_seeds,
      paperDocuments: params.paper_documents,
      claims: params.claims,
    });
    Deno.writeTextFileSync(context.output("results"), artifactJson(results));

    const folder = context.output("tables");
    const write = (name: string, text: string) => Deno.writeTextFileSync(join(folder, name), text);
    for (const encoding of encodingsByDataset(results)) {
      const id = encoding === "sinusoidal" ? "table1" : `table1_${encoding}`;
      writeTable(folder, accuracyTable(results, { encoding, id }));
    }
    for (const entry of datasetsByEncoding(results)) {
      writeTable(folder, encodingTable(results, entry));
    }
    const conditions = conditionRows(results);
    write("table1.csv", csvText(conditions.columns, conditions.rows));
    if (results.deltas.length > 0) writeTable(folder, deltaTable(results));
    const pairs = pairRows(results);
    write("deltas.csv", csvText(pairs.columns, pairs.rows));
    if (results.datasets.some((entry) => entry.corpus !== null)) {
      writeTable(folder, lengthTable(results));
    }

    if (results.claims.length > 0) {
      writeTable(folder, claimsTable(results.claims));
      writeTable(folder, comparisonsTable(results, results.claims));
    }

    if (results.paper) {
      writeTable(folder, paperSeriesTable(results.paper, results));
      writeTable(folder, paperTable(results.paper, results));
      writeTable(folder, findingsTable(results.paper));
    }

    for (const delta of results.deltas) {
      context.metric(`delta.${delta.dataset}.${delta.encoding}.${delta.operator}`, delta.mean);
    }
  },
});

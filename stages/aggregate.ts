/**
 * Gathers every evaluated run into one results document and the paper's tables.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";
import { accuracyTable } from "./results/accuracy_table.ts";
import { claimSchema } from "./results/claims/claim.ts";
import { claimsTable, comparisonsTable } from "./results/claims/claims_table.ts";
import { assembleResults, datasetOf, placeOf } from "./results/assemble.ts";
import { datasetsByEncoding, encodingsByDataset, encodingTable } from "./results/encoding_table.ts";
import { deltaTable } from "./results/delta_table.ts";
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
import { sourcesOf } from "./results/sources.ts";
import { pairTable, runTable } from "./results/run_tables.ts";
import { writeTable } from "./results/table.ts";

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
  /** dataset → size of the paper's model, by param; runs of another size are labelled smaller. */
  paper_models: z.record(z.string(), z.record(z.string(), z.number())).default({}),
  /** What the paper claims; those on accuracy are judged. */
  claims: z.array(claimSchema).default([]),
});

export const aggregate = defineStage({
  name: "aggregate",
  params,
  inputs: { runs: { many: true }, histories: { many: true }, corpora: { many: true } },
  outputs: {
    results: { kind: "file", exactness: "numeric" },
    // Which artifacts the results were read from.
    sources: { kind: "file", exactness: "numeric" },
    tables: { kind: "folder", exactness: "numeric", publish: () => "tables" },
  },
  // deno-lint-ignore require-await
  async run(context) {
    const { params } = context;
    const runs = locatedJson(context, "runs", metricsSchema);
    const histories = locatedJson(context, "histories", historySchema);
    const corpora = locatedJson(context, "corpora", corpusSchema);
    const results = assembleResults({ runs, histories, corpora }, {
      experiment: params.title,
      baseline: params.baseline,
      confidence: params.confidence,
      published: params.published,
      paperDeltas: params.paper_deltas,
      paperLatencies: params.paper_latencies,
      paperSeeds: params.paper_seeds,
      paperDocuments: params.paper_documents,
      paperModels: params.paper_models,
      claims: params.claims,
    });
    Deno.writeTextFileSync(context.output("results"), artifactJson(results));
    const named = (what: string, all: typeof runs | typeof histories) =>
      all.map((each) => {
        const { dataset, encoding, operator, seed } = placeOf(each);
        return { what, of: `${dataset}/${encoding}/${operator}/${seed}`, sha256: each.sha256 };
      });
    const sources = sourcesOf([
      ...named("metrics", runs),
      ...named("history", histories),
      ...corpora.map(({ at, sha256 }) => ({ what: "statistics", of: datasetOf(at), sha256 })),
    ]);
    Deno.writeTextFileSync(context.output("sources"), artifactJson(sources));

    const folder = context.output("tables");
    for (const encoding of encodingsByDataset(results)) {
      const id = encoding === "sinusoidal" ? "table1" : `table1_${encoding}`;
      writeTable(folder, accuracyTable(results, { encoding, id }));
    }
    for (const entry of datasetsByEncoding(results)) {
      writeTable(folder, encodingTable(results, entry));
    }
    if (results.conditions.length > 0) writeTable(folder, runTable(results));
    if (results.deltas.length > 0) {
      writeTable(folder, deltaTable(results));
      writeTable(folder, pairTable(results));
    }
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

/**
 * Runs stage `aggregate_fusion`, which `aggregate_fusion.ts` declares.
 *
 * @module
 */
import type { StageContext } from "../pipeline/stage.ts";
import { accuracyTable } from "./results/accuracy_table.ts";
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
import { lengthTable } from "./results/length_table.ts";
import { sourcesOf } from "./results/sources.ts";
import { pairTable, runTable } from "./results/run_tables.ts";
import { writeTable } from "./results/table.ts";
import type { AggregateParams } from "./aggregate_fusion.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<AggregateParams>): Promise<void> {
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
}

/**
 * Runs stage `aggregate_intensity`, which `aggregate_intensity.ts` declares.
 *
 * @module
 */
import type { StageContext } from "../pipeline/stage.ts";
import { artifactJson, corpusSchema, locatedJson } from "./results/inputs.ts";
import { assembleResults, datasetOf, placeOf } from "./results/intensity/assemble.ts";
import { historySchema, metricsSchema } from "./results/intensity/inputs.ts";
import { claimsTable, comparisonsTable, findingsTable } from "./results/intensity/claim_tables.ts";
import { pairTable, runTable } from "./results/intensity/run_tables.ts";
import { differenceTable, lossTable, textTable } from "./results/intensity/tables.ts";
import { sourcesOf } from "./results/sources.ts";
import { writeTable } from "./results/table.ts";
import type { AggregateIntensityParams } from "./aggregate_intensity.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<AggregateIntensityParams>): Promise<void> {
  const { params } = context;
  const runs = locatedJson(context, "runs", metricsSchema);
  const histories = locatedJson(context, "histories", historySchema);
  const corpora = locatedJson(context, "corpora", corpusSchema);
  const results = assembleResults({ runs, histories, corpora }, {
    experiment: params.title,
    confidence: params.confidence,
    published: params.published,
    claims: params.claims,
  });
  Deno.writeTextFileSync(context.output("results"), artifactJson(results));
  const named = (what: string, all: typeof runs | typeof histories) =>
    all.map((each) => {
      const { dataset, variant, seed } = placeOf(each);
      return { what, of: `${dataset}/${variant}/${seed}`, sha256: each.sha256 };
    });
  const sources = sourcesOf([
    ...named("metrics", runs),
    ...named("history", histories),
    ...corpora.map(({ at, sha256 }) => ({ what: "statistics", of: datasetOf(at), sha256 })),
  ]);
  Deno.writeTextFileSync(context.output("sources"), artifactJson(sources));

  const folder = context.output("tables");
  const tables = [
    ...[lossTable(results), runTable(results), differenceTable(results), pairTable(results)],
    ...[textTable(results), findingsTable(results)],
  ];
  for (const table of tables) if (table.rows.length > 0) writeTable(folder, table);
  if (results.claims.length > 0) {
    writeTable(folder, claimsTable(results.claims));
    writeTable(folder, comparisonsTable(results, results.claims));
  }

  for (const delta of results.deltas) {
    context.metric(`delta.${delta.dataset}.${delta.variant}`, delta.mean);
  }
}

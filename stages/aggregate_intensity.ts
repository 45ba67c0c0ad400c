/**
 * Gathers every trained language model into one results document and the paper's tables. What
 * depends on the time it took goes into outputs of its own.
 *
 * @module
 */
import { join } from "node:path";
import { z } from "zod";
import { type Artifact, defineStage } from "../pipeline/stage.ts";
import { artifactJson, corpusSchema, readJson } from "./results/inputs.ts";
import { assembleResults } from "./results/intensity/assemble.ts";
import { claimSchema, type JudgedClaim } from "./results/intensity/claim.ts";
import {
  historySchema,
  metricsSchema,
  publishedSchema,
  speedSchema,
} from "./results/intensity/inputs.ts";
import { assembleSpeeds } from "./results/intensity/speeds.ts";
import { claimsTable, comparisonsTable, findingsTable } from "./results/intensity/claim_tables.ts";
import {
  differenceTable,
  lossTable,
  runRows,
  speedTable,
  textTable,
} from "./results/intensity/tables.ts";
import { csvText, latexText, markdownText, type Table } from "./results/table.ts";

const params = z.strictObject({
  title: z.string().default("Results").describe("Title of the experiment"),
  confidence: z.number().gt(0).lt(1).default(0.95).describe("Coverage of every interval"),
  published: publishedSchema.prefault({}).describe("What the paper printed"),
  claims: z.array(claimSchema).default([]).describe("What the paper claims, each to be judged"),
});

export const aggregateIntensity = defineStage({
  name: "aggregate_intensity",
  params,
  inputs: {
    runs: { many: true },
    histories: { many: true },
    speeds: { many: true },
    corpora: { many: true },
  },
  outputs: {
    results: { kind: "file", exactness: "numeric" },
    tables: { kind: "folder", exactness: "numeric", publish: () => "tables/intensity" },
    speeds: { kind: "file", exactness: "measured" },
    speed_tables: {
      kind: "folder",
      exactness: "measured",
      publish: () => "tables/intensity_speed",
    },
  },
  // deno-lint-ignore require-await
  async run(context) {
    const { params } = context;
    const located = <T>(name: string, schema: z.ZodType<T>) =>
      context.inputs(name).map((artifact) => ({
        at: artifact.at,
        value: readJson(artifact.path, schema, { what: describe(name, artifact) }),
      }));
    const options = {
      experiment: params.title,
      confidence: params.confidence,
      published: params.published,
      claims: params.claims,
    };
    const results = assembleResults({
      runs: located("runs", metricsSchema),
      histories: located("histories", historySchema),
      corpora: located("corpora", corpusSchema),
    }, options);
    const speeds = assembleSpeeds(
      located("speeds", speedSchema),
      results.conditions,
      options,
    );
    Deno.writeTextFileSync(context.output("results"), artifactJson(results));
    Deno.writeTextFileSync(context.output("speeds"), artifactJson(speeds));

    const write = (folder: string, table: Table) => {
      Deno.writeTextFileSync(join(folder, `${table.id}.md`), markdownText(table));
      Deno.writeTextFileSync(join(folder, `${table.id}.tex`), latexText(table));
    };
    const judged = (folder: string, claims: readonly JudgedClaim[]) => {
      if (claims.length === 0) return;
      write(folder, claimsTable(claims));
      write(folder, comparisonsTable(results, claims));
    };
    const folder = context.output("tables");
    for (const table of [lossTable(results), differenceTable(results), textTable(results)]) {
      if (table.rows.length > 0) write(folder, table);
    }
    if (results.findings.length > 0) write(folder, findingsTable(results));
    const rows = runRows(results);
    Deno.writeTextFileSync(join(folder, "losses.csv"), csvText(rows.columns, rows.rows));
    judged(folder, results.claims);

    const timed = context.output("speed_tables");
    write(timed, speedTable(results, speeds));
    const columns = ["run", "tokens_per_second", "tokens_per_second_cached", "change_percent"];
    const speedRows = speeds.variants.map((each) => [
      each.variant,
      each.plain,
      each.cached,
      each.change,
    ]);
    Deno.writeTextFileSync(join(timed, "table1.csv"), csvText(columns, speedRows));
    judged(timed, speeds.claims);

    for (const delta of results.deltas) {
      context.metric(`delta.${delta.dataset}.${delta.variant}`, delta.mean);
    }
  },
});

function describe(name: string, artifact: Artifact): string {
  const at = Object.entries(artifact.at).sort().map(([axis, value]) => `${axis} ${value}`);
  return `an artifact of input "${name}" (${at.join(", ") || "no coordinates"})`;
}

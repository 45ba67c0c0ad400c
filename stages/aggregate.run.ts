/**
 * Runs stage `aggregate`, which `aggregate.ts` declares.
 *
 * @module
 */
import { judgeClaims } from "../analysis/claims/judge.ts";
import { familyOf } from "../analysis/claims/ruling.ts";
import { refuseAmbiguous } from "../analysis/claims/ambiguous.ts";
import { type Results, RESULTS_FORMAT } from "../analysis/results.ts";
import { findingsOf } from "../analysis/tables/consistency.ts";
import { tablesOf } from "../analysis/tables/tables.ts";
import { writeTables } from "../analysis/tables/text.ts";
import { missingRuns, studyOf } from "../analysis/tidy/study_of.ts";
import type { StageContext } from "../pipeline/stage.ts";
import type { AggregateParams } from "./aggregate.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<AggregateParams>): Promise<void> {
  const { params } = context;
  const { study, sources } = studyOf(params, context.inputs("measurements"));
  refuseAmbiguous(study, params.claims);
  const elsewhere = familyOf(params.elsewhere, "paper");
  const claims = judgeClaims(study, params.claims, { elsewhere });
  const findings = findingsOf(study, claims);
  const tables = tablesOf(study, { tables: Object.fromEntries(params.tables), claims, findings });
  const results: Results = {
    format: RESULTS_FORMAT,
    study,
    claims,
    findings,
    missing: missingRuns(study),
    tables,
  };
  writeJson(context.output("results"), results);
  writeJson(context.output("sources"), sources);
  writeTables(context.output("tables"), tables);
}

function writeJson(path: string, value: unknown): void {
  Deno.writeTextFileSync(path, JSON.stringify(value) + "\n");
}

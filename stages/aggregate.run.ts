/**
 * Runs stage `aggregate`, which `aggregate.ts` declares.
 *
 * @module
 */
import { judgeClaims } from "../analysis/claims/judge.ts";
import { familyOf } from "../analysis/claims/ruling.ts";
import { sensitivityOf } from "../analysis/claims/sensitivity.ts";
import { RESULTS_FORMAT, type Shown, SHOWN_FORMAT } from "../analysis/results.ts";
import { findingsOf } from "../analysis/tables/consistency.ts";
import { sensitivityText } from "../analysis/tables/sensitivity.ts";
import { tablesOf } from "../analysis/tables/tables.ts";
import { absentValues, missingRuns, studyOf } from "../analysis/tidy/study_of.ts";
import type { StageContext } from "../pipeline/stage.ts";
import type { AggregateParams } from "./aggregate.ts";

// deno-lint-ignore require-await
export async function run(context: StageContext<AggregateParams>): Promise<void> {
  const { params } = context;
  const artifacts = context.inputs("measurements");
  const { study, sources } = studyOf(params, artifacts);
  const elsewhere = familyOf(params.elsewhere, "paper");
  const claims = judgeClaims(study, params.claims, { elsewhere });
  const findings = findingsOf(study, claims);
  const sensitivity = params.sensitivity && sensitivityOf(study, params.sensitivity);
  const tables = tablesOf(study, {
    tables: Object.fromEntries(params.tables),
    ...{ claims, sensitivity, findings },
  });
  const absent = absentValues(study, params);
  const shown: Shown = {
    format: SHOWN_FORMAT,
    claims,
    findings,
    sensitivity: sensitivity === undefined ? "" : sensitivityText(study, sensitivity),
    absent,
    missing: missingRuns(study, { artifacts, grid: params.grid, absent }),
    tables,
    sources,
  };
  writeJson(context.output("results"), { format: RESULTS_FORMAT, study });
  writeJson(context.output("shown"), shown);
}

function writeJson(path: string, value: unknown): void {
  Deno.writeTextFileSync(path, JSON.stringify(value) + "\n");
}

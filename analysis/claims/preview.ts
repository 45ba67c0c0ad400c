/**
 * What a run could decide, known before it is run.
 *
 * @module
 */
import type { Preview } from "../../pipeline/stage.ts";
import type { Claim } from "../spec/claims.ts";
import { chancesTable } from "../tables/claims.ts";
import { cellText } from "../tables/table.ts";
import { publishedValues } from "../printed.ts";
import type { StudyParams } from "../tidy/study_of.ts";
import { chancesOf } from "./chances.ts";
import { familyOf } from "./ruling.ts";

/** The chances of each verdict on each claim with some seeds; nothing of claims without numbers. */
export function previewOf(
  params: StudyParams & { readonly claims: readonly Claim[]; readonly elsewhere: readonly Claim[] },
  seeds: number,
): Preview {
  const { claims, metrics, confidence } = params;
  const chances = chancesOf(claims, {
    published: publishedValues(params),
    metrics,
    seedAxis: params.seeds,
    seeds,
    confidence,
    elsewhere: familyOf(params.elsewhere, "paper"),
  });
  const table = chancesTable(claims.map(({ id }, i) => ({ id, chances: chances[i] ?? null })));
  return {
    title: table.caption,
    columns: table.columns.map(({ title }) => title),
    rows: table.rows.map(({ cells }) => cells.map(cellText)),
  };
}

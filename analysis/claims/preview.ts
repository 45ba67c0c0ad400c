/**
 * What a run could decide, known before it is run.
 *
 * @module
 */
import type { Preview } from "../../pipeline/stage.ts";
import type { Claim } from "../spec/claims.ts";
import { chancesTable } from "../tables/claims.ts";
import { cellText } from "../tables/table.ts";
import { publishedValues, type StudyParams } from "../tidy/study_of.ts";
import { chancesOf } from "./chances.ts";

/** How many of some claims are the paper's. */
export function paperClaims(claims: readonly Claim[]): number {
  return claims.filter(({ source }) => source === "paper").length;
}

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
    elsewhere: paperClaims(params.elsewhere),
  });
  const table = chancesTable(claims.map(({ id }, i) => ({ id, chances: chances[i] ?? null })));
  return {
    title: table.caption,
    columns: table.columns.map(({ title }) => title),
    rows: table.rows.map((row) => row.map(cellText)),
  };
}

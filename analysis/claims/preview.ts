/**
 * What a run could decide, known before it is run.
 *
 * @module
 */
import type { Preview } from "../../pipeline/stage.ts";
import { type Grid, isAsked } from "../grid.ts";
import { publishedValues } from "../printed.ts";
import type { Claim } from "../spec/claims.ts";
import { partsOf } from "../study.ts";
import { chancesTable } from "../tables/claims.ts";
import { cellText } from "../tables/table.ts";
import type { StudyParams } from "../tidy/study_of.ts";
import { chancesOf } from "./chances.ts";
import { comparisonsOf } from "./expected.ts";
import { familyOf } from "./ruling.ts";

/** The chances of each verdict on each claim with the seeds that a grid has of its runs. */
export function previewOf(
  params: StudyParams & {
    readonly claims: readonly Claim[];
    readonly elsewhere: readonly Claim[];
    readonly grid: Grid;
  },
): Preview {
  const { claims, metrics, confidence, grid } = params;
  const seeds = grid.values[params.seeds] ?? [""];
  const asked = claims.map((claim) =>
    comparisonsOf(claim).map((comparison) => {
      const places = partsOf(comparison).flatMap(({ place, minus }) =>
        minus ? [place, minus] : [place]
      );
      return [...seeds.keys()].filter((index) =>
        places.every((at) => isAsked(grid, { ...at, [params.seeds]: seeds[index]! }))
      );
    })
  );
  const chances = chancesOf(claims, {
    published: publishedValues(params),
    metrics,
    seedAxis: params.seeds,
    seeds: seeds.length,
    seedsOf: (claim, comparison) => asked[claim]![comparison]!,
    confidence,
    elsewhere: familyOf(params.elsewhere, "paper"),
  });
  const table = chancesTable(claims.map(({ id }, i) => ({ id, chances: chances[i] ?? null })));
  const isCovered = (claim: number) => asked[claim]!.every((own) => own.length > 0);
  const names = (isSuch: (claim: number) => boolean) =>
    claims.filter((_, claim) => isSuch(claim)).map(({ id }) => id).join(", ");
  const uncovered = names((claim) => !isCovered(claim));
  const unknown = names((claim) => isCovered(claim) && chances[claim] === null);
  return {
    title: table.caption,
    columns: table.columns.map(({ title }) => title),
    rows: table.rows.map(({ cells }) => cells.map(cellText)),
    notes: [
      ...uncovered === "" ? [] : [`Not run with these values of the grid: ${uncovered}.`],
      ...unknown === ""
        ? []
        : [`Of ${unknown} nothing says how far seeds spread; a claim's spread is a guess at it.`],
    ],
  };
}

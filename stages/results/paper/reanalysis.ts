/**
 * A paper's printed numbers, put to the tests our own runs are put to, and checked against each
 * other.
 *
 * @module
 */
import { measure } from "../claims/verdict.ts";
import { holm } from "../../../analysis/statistics/holm.ts";
import {
  conflictsOfClaims,
  conflictsOfFigures,
  conflictsOfLatencies,
  conflictsOfTables,
} from "./consistency.ts";
import type { PaperNumbers, Reanalysis } from "./numbers.ts";
import { differencesOfTables } from "./table_differences.ts";

/** Tests every series and every pair of table cells, and checks the numbers against each other. */
export function reanalyse(paper: PaperNumbers): Reanalysis {
  const measured = paper.series.map((series) => {
    const deltas = series.deltas.map((delta) => delta / 100);
    const question = {
      direction: "greater",
      smallest: 0.01,
      tolerance: 0.01,
      published: null,
      alpha: paper.alpha,
    } as const;
    const outcome = measure(deltas, { ...question, test: "difference" });
    const sign = measure(deltas, { ...question, test: "sign" });
    return { series, deltas, outcome, oneSidedSign: sign.p! };
  });
  const adjusted = holm(measured.map((each) => each.outcome.p!));
  return {
    series: measured.map(({ series, deltas, outcome, oneSidedSign }, index) => ({
      figure: series.figure,
      dataset: series.dataset,
      encoding: series.encoding,
      operator: series.operator,
      against: series.against,
      deltas,
      signP: oneSidedSign,
      ...outcome,
      holm: adjusted[index]!,
    })),
    tables: differencesOfTables(paper),
    findings: [
      ...conflictsOfFigures(paper),
      ...conflictsOfTables(paper),
      ...conflictsOfLatencies(paper),
      ...conflictsOfClaims(paper),
    ],
  };
}

/**
 * Differences of printed means with the uncertainty their printed spreads imply.
 *
 * @module
 */
import { studentTQuantile, studentTTwoSided } from "../../../analysis/statistics/student_t.ts";
import { cellsOf } from "./cells.ts";
import type { PaperNumbers, Reanalysis } from "./numbers.ts";

/**
 * Every operator against the baseline in the same table, dataset and encoding: an unpaired t test
 * from means and spreads, the spreads taken for standard deviations over the seeds.
 *
 * Degrees of freedom are n − 1, the least Welch's formula can give, which errs towards caution.
 */
export function differencesOfTables(paper: PaperNumbers): Reanalysis["tables"] {
  const cells = cellsOf(paper.tables);
  const df = paper.seeds - 1;
  return cells.flatMap((cell) => {
    if (cell.operator === paper.baseline || cell.spread === null) return [];
    const base = cells.find((other) =>
      other.table === cell.table && other.dataset === cell.dataset &&
      other.encoding === cell.encoding && other.operator === paper.baseline
    );
    if (base === undefined || base.spread === null) return [];
    const mean = (cell.mean - base.mean) / 100;
    const error = Math.sqrt((cell.spread * cell.spread + base.spread * base.spread) / paper.seeds) /
      100;
    const half = studentTQuantile(1 - paper.alpha / 2, df) * error;
    return [{
      table: cell.table,
      dataset: cell.dataset,
      encoding: cell.encoding,
      operator: cell.operator,
      against: paper.baseline,
      mean,
      interval: [mean - half, mean + half] as [number, number],
      p: studentTTwoSided(mean / error, df),
    }];
  });
}

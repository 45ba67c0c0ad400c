/**
 * Whether a paper's printed numbers can all be true at once.
 *
 * @module
 */
import { fixed, points } from "../format.ts";
import { encodingTitle, operatorTitle, paperDataset } from "../order.ts";
import { summarize } from "../../../analysis/statistics/sample.ts";
import { type Cell, cellsOf, tableTitle } from "./cells.ts";
import { type PaperNumbers, READING_ERROR, type Reanalysis, type Series } from "./numbers.ts";

type Finding = Reanalysis["findings"][number];

/** Figures against tables, and figures against each other. */
export function conflictsOfFigures(paper: PaperNumbers): Finding[] {
  const cells = cellsOf(paper.tables);
  const findings: Finding[] = [];
  for (const series of paper.series) {
    // Fewer seeds than the tables': their means need not agree.
    if (series.deltas.length !== paper.seeds) continue;
    for (const cell of cells.filter((each) => sameCondition(each, series, series.operator))) {
      const base = cells.find((each) =>
        each.table === cell.table && sameCondition(each, series, series.against)
      );
      if (base === undefined || cell.spread === null || base.spread === null) continue;
      findings.push(
        meansAgree(series, cell, base),
        spreadsAgree(series, { spread: cell.spread, base: base.spread, table: cell.table }),
      );
    }
  }
  return [...findings, ...paper.series.flatMap((series, index) => twins(series, index, paper))];
}

/** Tables that print the same condition twice. */
export function conflictsOfTables(paper: PaperNumbers): Finding[] {
  const cells = cellsOf(paper.tables);
  return cells.flatMap((cell, index) =>
    cells.slice(index + 1).filter((other) =>
      other.table !== cell.table && other.dataset === cell.dataset &&
      other.encoding === cell.encoding && other.operator === cell.operator
    ).flatMap((other) => {
      const where = `${paperDataset(cell.dataset)}, ${operatorTitle(cell.operator)}, ${
        encodingTitle(cell.encoding)
      }`;
      const gap = Math.abs(cell.mean - other.mean);
      const agree = gap <= cell.rounding + other.rounding + 1e-9;
      const findings: Finding[] = [{
        agrees: agree,
        text: `${where}: ${tableTitle(cell.table)} prints a mean of ${fixed(cell.mean, 2)}, ${
          tableTitle(other.table)
        } ${other.spread === null ? "about " : ""}${fixed(other.mean, 2)}${
          agree ? "" : `, ${fixed(gap, 2)} points apart`
        }.`,
      }];
      if (cell.spread !== null && other.spread !== null) {
        const ratio = other.spread / cell.spread;
        const same = Math.abs(cell.spread - other.spread) <= 0.01;
        findings.push({
          agrees: same,
          text: `${where}: ${tableTitle(cell.table)} prints a spread of ${fixed(cell.spread, 2)}, ${
            tableTitle(other.table)
          } ${fixed(other.spread, 2)}${
            same
              ? "."
              : `, ${fixed(ratio, 1)} times as much; both can't be the standard deviation over ` +
                "the same seeds."
          }`,
        });
      }
      return findings;
    })
  );
}

/** Neighbours in a table's order of latencies, and what the figure's bars say of them. */
export function conflictsOfLatencies(paper: PaperNumbers): Finding[] {
  return paper.latencies.flatMap(({ dataset, table, figure, operators }) =>
    operators.slice(1).map((slower, index) => {
      const faster = operators[index]!;
      const gap = slower.milliseconds - faster.milliseconds;
      const named = (each: typeof slower) => `${operatorTitle(each.operator)} (“${each.words}”)`;
      return {
        agrees: gap > 0,
        text: `${paperDataset(dataset)}, latency: ${tableTitle(table)} puts ${
          named(slower)
        } above ${named(faster)}; ${figure}'s bars read ${
          fixed(slower.milliseconds, 0)
        } ms against ${fixed(faster.milliseconds, 0)} ms${
          gap > 0 ? "." : `, ${fixed(-gap, 0)} ms the other way.`
        }`,
      };
    })
  );
}

/** Claims whose own printed number has the other sign. */
export function conflictsOfClaims(paper: PaperNumbers): Finding[] {
  return paper.claims.flatMap((claim) =>
    claim.test === "equivalence" ? [] : claim.compare.flatMap((comparison) => {
      const { published, direction } = comparison;
      if (published === undefined || published === 0) return [];
      const agrees = (published > 0) === (direction === "greater");
      if (agrees) return [];
      return [{
        agrees,
        text: `Claim ${claim.id} (“${claim.statement}”): the printed ${
          operatorTitle(comparison.operator)
        } − ${operatorTitle(comparison.against)} on ${paperDataset(comparison.dataset)}, ${
          encodingTitle(comparison.encoding)
        }, is ${points(published / 100)} points, the other sign.`,
      }];
    })
  );
}

function sameCondition(cell: Cell, series: Series, operator: string): boolean {
  return cell.dataset === series.dataset && cell.encoding === series.encoding &&
    cell.operator === operator;
}

function nameOf(series: Series): string {
  return `${series.figure}, ${paperDataset(series.dataset)}, ${operatorTitle(series.operator)} − ${
    operatorTitle(series.against)
  }`;
}

function meansAgree(series: Series, cell: Cell, base: Cell): Finding {
  const { mean } = summarize(series.deltas);
  const printed = cell.mean - base.mean;
  const agrees = Math.abs(mean - printed) <= READING_ERROR + cell.rounding + base.rounding;
  return {
    agrees,
    text: `${nameOf(series)}: the bars' mean is ${points(mean / 100)}, ${
      tableTitle(cell.table)
    }'s means differ by ${points(printed / 100)}.`,
  };
}

/**
 * A standard deviation is a norm, so that of a difference lies between the difference and the sum
 * of the two; printed spreads outside that can't be those of the runs in the figure.
 */
function spreadsAgree(
  series: Series,
  printed: { readonly spread: number; readonly base: number; readonly table: string },
): Finding {
  const { sd, n } = summarize(series.deltas);
  const reading = READING_ERROR * Math.sqrt(n / (n - 1)) + 0.01;
  const min = Math.abs(printed.spread - printed.base);
  const max = printed.spread + printed.base;
  const agrees = sd! >= min - reading && sd! <= max + reading;
  // Printed as standard errors, they would be √n times larger as standard deviations.
  const asErrors = sd! <= max * Math.sqrt(n) + reading;
  const range = `between ${fixed(min, 2)} and ${fixed(max, 2)}`;
  return {
    agrees,
    text: `${nameOf(series)}: the bars have a standard deviation of ${fixed(sd!, 2)} points. ` +
      `${tableTitle(printed.table)}'s spreads, ${fixed(printed.spread, 2)} and ${
        fixed(printed.base, 2)
      }, allow ${range}${
        agrees
          ? sd! > max || sd! < min ? ", the same but for the reading error." : "."
          : ` if they are standard deviations over the same seeds; as standard errors they would ${
            asErrors ? "fit" : "not fit either"
          }.`
      }`,
  };
}

/** Another figure of the same condition shows the same seeds. */
function twins(series: Series, index: number, paper: PaperNumbers): Finding[] {
  return paper.series.slice(index + 1).filter((other) =>
    other.dataset === series.dataset && other.encoding === series.encoding &&
    other.operator === series.operator && other.against === series.against
  ).map((other) => {
    const shared = Math.min(series.deltas.length, other.deltas.length);
    const first = series.deltas.slice(0, shared);
    const second = other.deltas.slice(0, shared);
    const widest = Math.max(...first.map((delta, seed) => Math.abs(delta - second[seed]!)));
    const agrees = widest <= 2 * READING_ERROR;
    const list = (deltas: readonly number[]) => deltas.map((each) => points(each / 100)).join(", ");
    return {
      agrees,
      text: `${nameOf(series)}, seeds 0 to ${shared - 1}: ${series.figure} shows ${
        list(first)
      }, ${other.figure} ${list(second)}${agrees ? "" : "; they can't be the same runs"}.`,
    };
  });
}

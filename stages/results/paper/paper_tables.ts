/**
 * The paper's re-analysed numbers as tables.
 *
 * @module
 */
import { OUTCOME_COLUMNS, outcomeRow, probability } from "../claims/claims_table.ts";
import { fixed, points, pointsInterval } from "../format.ts";
import { encodingTitle, operatorTitle, paperDataset } from "../order.ts";
import type { Results } from "../results.ts";
import type { FileTable } from "../table.ts";
import { tableTitle } from "./cells.ts";
import type { Reanalysis } from "./numbers.ts";

/** Per-seed differences of the paper's figures, tested as ours are. */
export function paperSeriesTable(paper: Reanalysis, results: Results): FileTable {
  return {
    id: "paper_figures",
    caption: "The paper's per-seed differences by the same tests, in percentage points",
    columns: [
      { title: "Figure" },
      { title: "Dataset" },
      { title: "Difference" },
      { title: "Seeds", align: "right" },
      { title: "Mean", align: "right" },
      { title: `${Math.round(results.confidence * 100)} % interval`, align: "right" },
      { title: "Std. dev.", align: "right" },
      { title: "p", align: "right" },
      { title: "p, Holm", align: "right" },
      { title: "Signed-rank p", align: "right" },
      { title: "Up / down", align: "right" },
    ],
    rows: paper.series.map((each) => [
      each.figure,
      paperDataset(each.dataset),
      `${operatorTitle(each.operator)} − ${operatorTitle(each.against)}`,
      String(each.n),
      points(each.mean ?? 0),
      each.interval ? pointsInterval(each.interval) : "–",
      each.sd === null ? "–" : fixed(each.sd * 100, 2),
      probability(each.p),
      probability(each.holm),
      probability(each.signedRankP),
      `${each.positive} / ${each.negative}`,
    ]),
    notes: ["Read off the published figures, each value to about 0.05 points; paired t tests."],
    data: {
      columns: ["figure", "dataset", "encoding", "operator", "against", ...OUTCOME_COLUMNS],
      rows: paper.series.map((each) => [
        ...[each.figure, each.dataset, each.encoding, each.operator, each.against],
        ...outcomeRow(each),
      ]),
    },
  };
}

/** Differences of the paper's table means, with what their spreads imply. */
export function paperTable(paper: Reanalysis, results: Results): FileTable {
  return {
    id: "paper_tables",
    caption: "Differences of the paper's printed means, in percentage points",
    columns: [
      { title: "Table" },
      { title: "Dataset" },
      { title: "Encoding" },
      { title: "Difference" },
      { title: "Mean", align: "right" },
      { title: `${Math.round(results.confidence * 100)} % interval`, align: "right" },
      { title: "p", align: "right" },
    ],
    rows: paper.tables.map((each) => [
      tableTitle(each.table),
      paperDataset(each.dataset),
      encodingTitle(each.encoding),
      `${operatorTitle(each.operator)} − ${operatorTitle(each.against)}`,
      points(each.mean),
      pointsInterval(each.interval),
      probability(each.p),
    ]),
    notes: [
      "Unpaired t tests, the printed spreads taken for standard deviations over the seeds, with " +
      "n − 1 degrees of freedom.",
    ],
    data: {
      columns: [
        ...["table", "dataset", "encoding", "operator", "against"],
        ...["mean", "interval_low", "interval_high", "p"],
      ],
      rows: paper.tables.map((each) => [
        ...[each.table, each.dataset, each.encoding, each.operator, each.against],
        ...[each.mean, ...each.interval, each.p],
      ]),
    },
  };
}

/** What can and what can't be true at once. */
export function findingsTable(paper: Reanalysis): FileTable {
  return {
    id: "paper_consistency",
    caption: "Whether the paper's numbers fit each other",
    columns: [{ title: "Fits?" }, { title: "What was compared" }],
    rows: [...paper.findings].sort((a, b) => Number(a.agrees) - Number(b.agrees)).map((each) => [
      each.agrees ? "yes" : "no",
      each.text,
    ]),
    data: {
      columns: ["agrees", "what"],
      rows: paper.findings.map((each) => [String(each.agrees), each.text]),
    },
  };
}

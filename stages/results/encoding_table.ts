/**
 * Table 3's shape: one dataset, mean accuracy by positional encoding and operator.
 *
 * @module
 */
import {
  accuracyText,
  conditionData,
  datasetTitle,
  kindLabel,
  publishedText,
  runsAnchor,
} from "./accuracy_table.ts";
import { encodingTitle, operatorTitle } from "./order.ts";
import type { DatasetEntry, Results } from "./results.ts";
import { type Cell, type FileTable, rowsLink } from "./table.ts";

/** Datasets that were run with more than one encoding. */
export function datasetsByEncoding(results: Results): DatasetEntry[] {
  return results.datasets.filter((entry) =>
    new Set(
      results.conditions.filter((cell) => cell.dataset === entry.dataset).map((cell) =>
        cell.encoding
      ),
    ).size > 1
  );
}

/** Accuracy by encoding and operator, ours above the paper's where the data corresponds. */
export function encodingTable(results: Results, entry: DatasetEntry): FileTable {
  const cells = results.conditions.filter((cell) => cell.dataset === entry.dataset);
  const operators = results.operators.filter((name) =>
    cells.some((cell) => cell.operator === name)
  );
  const encodings = results.encodings.filter((name) =>
    cells.some((cell) => cell.encoding === name)
  );
  const rows: Cell[][] = [];
  const breaks: number[] = [];
  for (const encoding of encodings) {
    const find = (operator: string) =>
      cells.find((cell) => cell.encoding === encoding && cell.operator === operator);
    rows.push([
      encodingTitle(encoding),
      `This run: ${kindLabel(entry)}`,
      ...operators.map((operator) => {
        const cell = find(operator);
        if (cell === undefined) return "not run";
        const text = `${accuracyText(cell)}${cell.n > 1 ? ` (n = ${cell.n})` : ""}`;
        return { text, to: rowsLink(runsAnchor(cell)) };
      }),
    ]);
    if (operators.some((operator) => find(operator)?.published)) {
      rows.push([
        "",
        "Paper, as printed",
        ...operators.map((operator) => {
          const published = find(operator)?.published;
          return published ? publishedText(published) : "–";
        }),
      ]);
    }
    breaks.push(rows.length - 1);
  }
  return {
    id: entry.dataset === "arxiv" ? "table3" : `table3_${entry.dataset}`,
    caption: `${datasetTitle(entry, entry.dataset)}: test accuracy in percent by positional ` +
      "encoding, mean ± standard deviation over seeds",
    columns: [
      { title: "Encoding" },
      { title: "Source" },
      ...operators.map((name) => ({ title: operatorTitle(name), align: "right" as const })),
    ],
    rows,
    breaks,
    data: conditionData(results, cells),
  };
}

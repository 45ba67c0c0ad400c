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
  seedsText,
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

/**
 * The encodings that Table 1's shape is for: the first, and those of a dataset that has no other
 * and so is in no table of encodings.
 */
export function encodingsByDataset(results: Results): string[] {
  const several = datasetsByEncoding(results).map((entry) => entry.dataset);
  return results.encodings.filter((encoding, index) =>
    index === 0 ||
    results.conditions.some((cell) => cell.encoding === encoding && !several.includes(cell.dataset))
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
    const own = cells.filter((cell) => cell.encoding === encoding);
    const inOrder = operators.map((name) => own.find((cell) => cell.operator === name));
    rows.push([
      encodingTitle(encoding),
      `This run: ${kindLabel(entry)}, ${seedsText(own)}`,
      ...inOrder.map((cell) =>
        cell ? { text: accuracyText(cell), to: rowsLink(runsAnchor(cell)) } : "not run"
      ),
    ]);
    const printed = inOrder.map((cell) =>
      cell?.published.find(({ table }) => table === "table3") ?? cell?.published[0]
    );
    if (printed.some((each) => each !== undefined)) {
      rows.push([
        "",
        "Paper, as printed",
        ...printed.map((each) => each ? publishedText(each) : "–"),
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
    notes: NOTES.filter(({ about }) => about.some((name) => encodings.includes(name)))
      .map(({ text }) => text),
    data: conditionData(results, cells),
  };
}

/** What the names of encodings hide. */
const NOTES = [
  {
    about: ["relative"],
    text: "As in the paper's code, Relative is the model that Learned is, a learned table of " +
      "absolute positions, with other initial numbers.",
  },
  {
    about: ["rope"],
    text: "As in the paper's code, RoPE is the sinusoidal table with its columns in another order.",
  },
  {
    about: ["rope_attention", "relative_attention"],
    text: "RoPE attention and Relative attention are what these names mean elsewhere: positions " +
      "enter the attention, nothing is fused, and they are listed under Add.",
  },
];

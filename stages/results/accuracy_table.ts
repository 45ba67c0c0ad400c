/**
 * Table 1's shape: mean accuracy by dataset and operator, ours above the paper's.
 *
 * @module
 */
import { fixed, percent } from "./format.ts";
import { encodingTitle, operatorTitle } from "./order.ts";
import type { Condition, DatasetEntry, PublishedCell, Results } from "./results.ts";
import { type Cell, type Data, type FileTable, rowsAnchor, rowsLink } from "./table.ts";

/** How a dataset's data and models relate to the paper's, in a few words. */
export function kindLabel(
  entry: (Pick<DatasetEntry, "corpus"> & { readonly smaller?: boolean }) | undefined,
): string {
  const { smaller = false } = entry ?? {};
  return dataLabel(entry) + (smaller ? ", smaller model" : "");
}

function dataLabel(entry: Pick<DatasetEntry, "corpus"> | undefined): string {
  switch (entry?.corpus?.source.kind) {
    case "official":
      return "full data";
    case "sample":
      return "sample of the data";
    case "synthetic":
      return "synthetic data";
    default:
      return "data not described";
  }
}

/** A dataset's title, or its name where the corpus was not described. */
export function datasetTitle(
  entry: Pick<DatasetEntry, "corpus"> | undefined,
  dataset: string,
): string {
  return entry?.corpus?.source.title ?? dataset;
}

/** `91.15 ± 0.08`, or `91.15 (1 seed)` where there is no spread. */
export function accuracyText(cell: Pick<Condition, "mean" | "sd">): string {
  return cell.sd === null
    ? `${percent(cell.mean)} (1 seed)`
    : `${percent(cell.mean)} ± ${fixed(cell.sd * 100, 2)}`;
}

/** How many seeds are behind the cells of a row: `n = 5`, or `n = 3–5` where they differ. */
export function seedsText(cells: readonly Condition[]): string {
  const min = Math.min(...cells.map((cell) => cell.n));
  const max = Math.max(...cells.map((cell) => cell.n));
  return min === max ? `n = ${min}` : `n = ${min}–${max}`;
}

/** A printed value, `59.22 ± 1.07`, or `about 62` where no spread is printed. */
export function publishedText(cell: PublishedCell): string {
  return cell.spread === null
    ? `about ${percent(cell.mean, 0)}`
    : accuracyText({ mean: cell.mean, sd: cell.spread });
}

/** The anchor of a condition's runs, one by one. */
export function runsAnchor(cell: Pick<Condition, "dataset" | "encoding" | "operator">): string {
  return rowsAnchor("runs", cell.dataset, cell.encoding, cell.operator);
}

/** The anchor of a condition's timings, one by one. */
export function timedAnchor(cell: Pick<Condition, "dataset" | "encoding" | "operator">): string {
  return rowsAnchor("timed", cell.dataset, cell.encoding, cell.operator);
}

/**
 * Accuracy table of one encoding. Each dataset has a row of this run, naming its data, and, where
 * the data corresponds, a row of what the paper printed.
 */
export function accuracyTable(
  results: Results,
  options: { readonly encoding: string; readonly id: string },
): FileTable {
  const conditions = results.conditions.filter((cell) => cell.encoding === options.encoding);
  const operators = results.operators.filter((name) =>
    conditions.some((cell) => cell.operator === name)
  );
  const rows: Cell[][] = [];
  const breaks: number[] = [];
  for (const entry of results.datasets) {
    const cells = conditions.filter((cell) => cell.dataset === entry.dataset);
    if (cells.length === 0) continue;
    const byOperator = new Map(cells.map((cell) => [cell.operator, cell]));
    rows.push([
      datasetTitle(entry, entry.dataset),
      `This run: ${kindLabel(entry)}, ${seedsText(cells)}`,
      ...operators.map((name) => {
        const cell = byOperator.get(name);
        return cell ? { text: accuracyText(cell), to: rowsLink(runsAnchor(cell)) } : "not run";
      }),
    ]);
    if (cells.some((cell) => cell.published.length > 0)) {
      rows.push([
        "",
        "Paper, as printed",
        ...operators.map((name) => {
          const published = byOperator.get(name)?.published[0];
          return published ? publishedText(published) : "–";
        }),
      ]);
    }
    breaks.push(rows.length - 1);
  }
  return {
    id: options.id,
    caption: `Test accuracy in percent, mean ± standard deviation over seeds, ` +
      `${encodingTitle(options.encoding).toLowerCase().replace("rope", "RoPE")} encoding`,
    columns: [
      { title: "Dataset" },
      { title: "Source" },
      ...operators.map((name) => ({ title: operatorTitle(name), align: "right" as const })),
    ],
    rows,
    breaks,
    notes: notes(results, conditions),
    data: conditionData(results, conditions),
  };
}

/** Conditions for programs, fractions. */
export function conditionData(results: Results, conditions: readonly Condition[]): Data {
  const entries = new Map(results.datasets.map((entry) => [entry.dataset, entry]));
  return {
    columns: [
      "dataset",
      "data_kind",
      "encoding",
      "operator",
      "seeds",
      "accuracy_mean",
      "accuracy_sd",
      "interval_low",
      "interval_high",
      "published_table",
      "published_mean",
      "published_spread",
    ],
    rows: conditions.map((cell) => [
      cell.dataset,
      entries.get(cell.dataset)?.corpus?.source.kind ?? "undescribed",
      cell.encoding,
      cell.operator,
      cell.n,
      cell.mean,
      cell.sd,
      cell.interval?.[0] ?? null,
      cell.interval?.[1] ?? null,
      cell.published[0]?.table ?? null,
      cell.published[0]?.mean ?? null,
      cell.published[0]?.spread ?? null,
    ]),
  };
}

function notes(results: Results, conditions: readonly Condition[]): string[] {
  const kinds = new Set(
    results.datasets
      .filter((entry) => conditions.some((cell) => cell.dataset === entry.dataset))
      .map((entry) => entry.corpus?.source.kind),
  );
  return [
    ...(kinds.has("sample")
      ? [
        "A row of sampled data is not a measurement on the paper's data set: fewer documents " +
        "were trained and tested on.",
      ]
      : []),
    ...(kinds.has("synthetic")
      ? ["Synthetic data has no counterpart in the paper; its rows check the pipeline only."]
      : []),
  ];
}

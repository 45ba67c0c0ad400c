/**
 * Document lengths of each corpus and split.
 *
 * @module
 */
import { datasetTitle, kindLabel } from "./accuracy_table.ts";
import { fixed, grouped, percent } from "./format.ts";
import { compareText } from "./order.ts";
import type { Results } from "./results.ts";
import type { TraceLinks } from "./sources.ts";
import { type Cell, type Data, type FileTable, linked } from "./table.ts";

const SPLITS = ["train", "validation", "test"];

/** Lengths in tokens after cutting, train split first. */
export function lengthTable(results: Results, trace: TraceLinks = () => undefined): FileTable {
  const data: Data["rows"][number][] = [];
  const rows: Cell[][] = [];
  const breaks: number[] = [];
  for (const entry of results.datasets) {
    const corpus = entry.corpus;
    if (corpus === null) continue;
    const names = Object.keys(corpus.splits).sort((a, b) =>
      SPLITS.indexOf(a) - SPLITS.indexOf(b) || compareText(a, b)
    );
    names.forEach((name, index) => {
      const split = corpus.splits[name]!;
      const { mean, median, p90, p95, p99, max, clippedShare } = split.lengths;
      rows.push([
        index === 0 ? datasetTitle(entry, entry.dataset) : "",
        index === 0 ? kindLabel(entry) : "",
        name,
        linked(grouped(split.documents), trace("statistics", [entry.dataset])),
        fixed(mean, 1),
        ...[median, p90, p95, p99, max].map((length) =>
          Number.isInteger(length) ? grouped(length) : fixed(length, 1)
        ),
        `${percent(clippedShare)} %`,
      ]);
      data.push([
        ...[entry.dataset, corpus.source.kind, name, split.documents],
        ...[mean, median, p90, p95, p99, max, clippedShare],
      ]);
    });
    breaks.push(rows.length - 1);
  }
  return {
    id: "lengths",
    caption: "Document lengths in tokens",
    columns: [
      { title: "Dataset" },
      { title: "Data" },
      { title: "Split" },
      ...["Documents", "Mean", "Median", "90th", "95th", "99th", "Longest", "Clipped"].map(
        (title) => ({ title, align: "right" as const }),
      ),
    ],
    rows,
    breaks,
    notes: [
      "90th, 95th and 99th are percentiles; clipped is the share of documents cut at the " +
      "greatest length the model takes.",
    ],
    data: {
      columns: [
        ...["dataset", "data_kind", "split", "documents"],
        ...["mean", "median", "p90", "p95", "p99", "max", "clipped_share"],
      ],
      rows: data,
    },
  };
}

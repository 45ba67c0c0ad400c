/**
 * Paired differences from the baseline operator, one row per dataset, encoding and operator.
 *
 * @module
 */
import { datasetTitle, kindLabel } from "./accuracy_table.ts";
import { counted, fixed, percent, points, pointsInterval } from "./format.ts";
import { encodingTitle, operatorTitle } from "./order.ts";
import type { Results } from "./results.ts";
import type { Table } from "./table.ts";

/** The deltas for people, in percentage points. */
export function deltaTable(results: Results): Table {
  const entries = new Map(results.datasets.map((entry) => [entry.dataset, entry]));
  const several = results.encodings.length > 1;
  const published = results.deltas.some((delta) => delta.published !== null);
  const level = percent(results.confidence, 0);
  return {
    id: "deltas",
    caption: `Accuracy difference from ${operatorTitle(results.baseline)} under the same seed, ` +
      "in percentage points",
    columns: [
      { title: "Dataset" },
      { title: "Data" },
      ...(several ? [{ title: "Encoding" }] : []),
      { title: "Operator" },
      { title: "Seeds", align: "right" },
      { title: "Mean", align: "right" },
      { title: `${level} % interval`, align: "right" },
      { title: "Std. dev.", align: "right" },
      { title: "Up / down", align: "right" },
      ...(published ? [{ title: "Paper", align: "right" as const }] : []),
    ],
    rows: results.deltas.map((delta) => [
      datasetTitle(entries.get(delta.dataset), delta.dataset),
      kindLabel(entries.get(delta.dataset)),
      ...(several ? [encodingTitle(delta.encoding)] : []),
      operatorTitle(delta.operator),
      String(delta.n),
      points(delta.mean),
      delta.interval ? pointsInterval(delta.interval) : "needs 2 seeds",
      delta.sd === null ? "–" : fixed(delta.sd * 100, 2),
      `${delta.positive} / ${delta.negative}`,
      ...(published ? [delta.published === null ? "–" : points(delta.published)] : []),
    ]),
    notes: [
      "Intervals are Student t intervals of the mean paired difference." +
      (results.missing.length > 0
        ? ` ${counted(results.missing.length, "run")} of the grid missing.`
        : ""),
    ],
  };
}

/** One row per pair, unrounded. */
export function pairRows(results: Results): {
  columns: string[];
  rows: (string | number | null)[][];
} {
  const entries = new Map(results.datasets.map((entry) => [entry.dataset, entry]));
  return {
    columns: ["dataset", "data_kind", "encoding", "operator", "baseline", "seed", "delta"],
    rows: results.deltas.flatMap((delta) =>
      delta.pairs.map((pair) => [
        delta.dataset,
        entries.get(delta.dataset)?.corpus?.source.kind ?? "undescribed",
        delta.encoding,
        delta.operator,
        delta.baseline,
        pair.seed,
        pair.delta,
      ])
    ),
  };
}

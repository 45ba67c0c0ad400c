/**
 * Paired differences from the baseline operator, one row per dataset, encoding and operator.
 *
 * @module
 */
import { datasetTitle, kindLabel } from "./accuracy_table.ts";
import { counted, fixed, percent, points, pointsInterval } from "./format.ts";
import { encodingTitle, operatorTitle } from "./order.ts";
import type { Results } from "./results.ts";
import { pairsAnchor } from "./run_tables.ts";
import { type FileTable, rowsLink } from "./table.ts";

/** The deltas for people, in percentage points. */
export function deltaTable(results: Results): FileTable {
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
      {
        text: points(delta.mean),
        to: rowsLink(pairsAnchor({ ...delta, against: delta.baseline })),
      },
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
    data: {
      columns: [
        ...["dataset", "data_kind", "encoding", "operator", "baseline", "seeds"],
        ...["delta_mean", "delta_sd", "interval_low", "interval_high"],
        ...["positive", "negative", "published_delta"],
      ],
      rows: results.deltas.map((delta) => [
        ...[delta.dataset, entries.get(delta.dataset)?.corpus?.source.kind ?? "undescribed"],
        ...[delta.encoding, delta.operator, delta.baseline, delta.n, delta.mean, delta.sd],
        ...[delta.interval?.[0] ?? null, delta.interval?.[1] ?? null],
        ...[delta.positive, delta.negative, delta.published],
      ]),
    },
  };
}

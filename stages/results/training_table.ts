/**
 * How the runs were trained, as far as their histories say.
 *
 * @module
 */
import { datasetTitle } from "./accuracy_table.ts";
import { grouped } from "./format.ts";
import type { Results } from "./results.ts";
import { EVERY_RUN } from "./run_tables.ts";
import { rowsLink, type Table } from "./table.ts";

/** Sizes and lengths of training by dataset, as ranges over operators and seeds. */
export function trainingTable(results: Results): Table {
  const entries = results.datasets.filter((entry) =>
    results.curves.some((curve) => curve.dataset === entry.dataset)
  );
  return {
    id: "training",
    caption: "How the runs were trained",
    columns: [
      { title: "Dataset" },
      ...["Runs", "Parameters", "Epochs", "Best epoch", "Steps"].map((title) => ({
        title,
        align: "right" as const,
      })),
      { title: "Initial weights" },
    ],
    rows: entries.map((entry) => {
      const own = results.curves.filter((curve) => curve.dataset === entry.dataset);
      const protocols = [...new Set(own.map((curve) => curve.protocol))].sort();
      return [
        datasetTitle(entry, entry.dataset),
        { text: grouped(own.length), to: rowsLink(EVERY_RUN) },
        range(own.map((curve) => curve.parameters)),
        range(own.map((curve) => curve.epochs.length)),
        range(own.map((curve) => curve.bestEpoch)),
        range(own.map((curve) => curve.steps)),
        `protocol ${protocols.join(", ")}`,
      ];
    }),
    notes: [
      "Ranges are over operators and seeds. Every other setting is in the experiment file.",
    ],
  };
}

function range(values: readonly number[]): string {
  const min = Math.min(...values);
  const max = Math.max(...values);
  return min === max ? grouped(min) : `${grouped(min)}–${grouped(max)}`;
}

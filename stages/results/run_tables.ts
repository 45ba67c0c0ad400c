/**
 * What means rest on: every run, and every pair of runs under one seed, each with the way to its
 * trace.
 *
 * @module
 */
import { datasetTitle, runsAnchor } from "./accuracy_table.ts";
import { grouped, percent, points } from "./format.ts";
import { encodingTitle, operatorTitle } from "./order.ts";
import type { Condition, Results } from "./results.ts";
import type { TraceLinks } from "./sources.ts";
import { type Cell, type FileTable, linked, rowsAnchor } from "./table.ts";

/** The anchor of the table of every run. */
export const EVERY_RUN = "every_run";

/** Two operators under one condition, the second subtracted. */
interface Contrast {
  readonly dataset: string;
  readonly encoding: string;
  readonly operator: string;
  readonly against: string;
}

/** The anchor of a contrast's pairs, one by one. */
export function pairsAnchor(contrast: Contrast): string {
  const { dataset, encoding, operator, against } = contrast;
  return rowsAnchor("pairs", dataset, encoding, operator, against);
}

/** Every run, for people. */
export function runTable(results: Results, trace: TraceLinks = () => undefined): FileTable {
  const anchors = new Map<number, string>();
  const rows: Cell[][] = [];
  const data: (string | number | null)[][] = [];
  for (const cell of results.conditions) {
    anchors.set(rows.length, runsAnchor(cell));
    for (const run of cell.runs) {
      const { dataset, encoding, operator } = cell;
      const place = [dataset, encoding, operator, run.seed];
      const curve = results.curves.find((each) =>
        each.dataset === dataset && each.encoding === encoding && each.operator === operator &&
        each.seed === run.seed
      );
      rows.push([
        titleOf(results, dataset),
        encodingTitle(encoding),
        operatorTitle(operator),
        String(run.seed),
        grouped(run.correct),
        grouped(run.documents),
        linked(percent(run.accuracy), trace("metrics", place)),
        run.lossNats.toFixed(4),
        curve === undefined ? "–" : linked(grouped(curve.bestEpoch), trace("history", place)),
        curve === undefined ? "–" : grouped(curve.steps),
      ]);
      data.push([
        ...[...place, run.correct, run.documents, run.accuracy, run.lossNats],
        ...[curve?.bestEpoch ?? null, curve?.steps ?? null],
      ]);
    }
  }
  return {
    id: EVERY_RUN,
    caption: "Every run",
    columns: [
      { title: "Dataset" },
      { title: "Encoding" },
      { title: "Operator" },
      ...[
        "Seed",
        "Correct",
        "Documents",
        "Accuracy, %",
        "Loss, nats",
        "Best epoch",
        "Steps",
      ].map((title) => ({ title, align: "right" as const })),
    ],
    rows,
    anchors,
    notes: [
      "Accuracies lead to the trace of the evaluation, which the first four numbers come from; best " +
      "epochs to that of the training.",
    ],
    data: {
      columns: [
        ...["dataset", "encoding", "operator", "seed", "correct", "documents", "accuracy"],
        ...["loss_nats", "best_epoch", "steps"],
      ],
      rows: data,
    },
  };
}

/** Every pair of runs that a difference or a claim rests on. */
export function pairTable(results: Results, trace: TraceLinks = () => undefined): FileTable {
  const anchors = new Map<number, string>();
  const rows: Cell[][] = [];
  const data: (string | number)[][] = [];
  const accuracy = (cell: Condition, run: Condition["runs"][number]) =>
    linked(
      percent(run.accuracy),
      trace("metrics", [cell.dataset, cell.encoding, cell.operator, run.seed]),
    );
  for (const [anchor, contrast] of contrasts(results)) {
    const find = (operator: string) =>
      results.conditions.find((cell) =>
        cell.dataset === contrast.dataset && cell.encoding === contrast.encoding &&
        cell.operator === operator
      );
    const [cell, base] = [find(contrast.operator), find(contrast.against)];
    if (cell === undefined || base === undefined) continue;
    const first = rows.length;
    for (const run of cell.runs) {
      const partner = base.runs.find((other) => other.seed === run.seed);
      if (partner?.documents !== run.documents) continue;
      const delta = (run.correct - partner.correct) / run.documents;
      rows.push([
        titleOf(results, contrast.dataset),
        encodingTitle(contrast.encoding),
        `${operatorTitle(contrast.operator)} − ${operatorTitle(contrast.against)}`,
        String(run.seed),
        accuracy(cell, run),
        accuracy(base, partner),
        points(delta),
      ]);
      const { dataset, encoding, operator, against } = contrast;
      data.push([
        ...[dataset, encoding, operator, against],
        ...[run.seed, run.accuracy, partner.accuracy, delta],
      ]);
    }
    if (rows.length > first) anchors.set(first, anchor);
  }
  return {
    id: "every_pair",
    caption: "Every pair of runs under one seed: accuracies in percent, their difference in points",
    columns: [
      { title: "Dataset" },
      { title: "Encoding" },
      { title: "Difference" },
      ...["Seed", "First", "Second", "Difference, points"].map((title) => ({
        title,
        align: "right" as const,
      })),
    ],
    rows,
    anchors,
    data: {
      columns: [
        ...["dataset", "encoding", "operator", "against", "seed"],
        ...["accuracy_first", "accuracy_second", "delta"],
      ],
      rows: data,
    },
  };
}

/** The contrasts of differences and claims, each once, by anchor. */
function contrasts(results: Results): Map<string, Contrast> {
  const all: Contrast[] = [
    ...results.deltas.map((delta) => ({ ...delta, against: delta.baseline })),
    ...results.claims.flatMap((claim) => claim.comparisons).filter((each) => each.n > 0)
      .flatMap((each) => each.than === null ? [each] : [each, each.than]),
  ];
  return new Map(all.map((each) => [pairsAnchor(each), each]));
}

function titleOf(results: Results, dataset: string): string {
  return datasetTitle(results.datasets.find((entry) => entry.dataset === dataset), dataset);
}

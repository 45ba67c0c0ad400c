/**
 * Metrics as text: a table for each stage that fits the width.
 *
 * @module
 */
import { column, columns, figure, widthOf } from "./layout.ts";
import type { MetricsRow } from "./metrics.ts";

const GAP = "  ";

/** A table for each stage; a stage of one instance has a line for each metric. */
export function tableLines(rows: readonly MetricsRow[]): string[] {
  return [...Map.groupBy(rows, ({ stage }) => stage)].flatMap(([stage, own]) => [
    "",
    stage,
    ...(own.length === 1 ? metricLines(own[0]!) : stageLines(own)),
  ]);
}

function metricLines({ metrics }: MetricsRow): string[] {
  const names = Object.keys(metrics);
  const width = Math.max(...names.map(widthOf));
  return names.map((name) => `${GAP}${name.padEnd(width)}${GAP}${figure(metrics[name]!)}`);
}

/** Of the metrics as many columns as there is room for. */
function stageLines(rows: readonly MetricsRow[]): string[] {
  const axes = [...new Set(rows.flatMap(({ at }) => Object.keys(at)))];
  const names = axes.length > 0 ? axes : ["instance"];
  const labels = names.map((axis) =>
    column(axis, rows.map(({ at, instance }) => String(at[axis] ?? instance)))
  );
  const metrics = [...new Set(rows.flatMap(({ metrics }) => Object.keys(metrics)))];
  const numbers = metrics.map((metric) =>
    column(
      metric,
      rows.map((row) => row.metrics[metric] === undefined ? "" : figure(row.metrics[metric])),
    )
  );
  const shown = [...labels];
  let left = columns() - labels.reduce((sum, [head]) => sum + GAP.length + head!.length, 0);
  for (const number of numbers) {
    left -= GAP.length + number[0]!.length;
    if (left < 0 && shown.length > labels.length) break;
    shown.push(number);
  }
  const lines = rows.concat(rows.slice(0, 1)).map((_, index) =>
    GAP + shown.map((cells) => cells[index]!).join(GAP).trimEnd()
  );
  const more = labels.length + numbers.length - shown.length;
  return more > 0 ? [...lines, `${GAP}and ${more} more metrics; --format csv lists them`] : lines;
}

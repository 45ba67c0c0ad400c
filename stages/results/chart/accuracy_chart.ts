/**
 * Test accuracy per dataset and operator, the paper's printed value beside ours where the data
 * corresponds.
 *
 * @module
 */
import { accuracyText, datasetTitle, kindLabel } from "../accuracy_table.ts";
import { percent } from "../format.ts";
import { encodingTitle, operatorTitle } from "../order.ts";
import type { Condition, Results } from "../results.ts";
import { emptyPanel } from "./delta_chart.ts";
import { type Chart, COLOURS, INK, rowAxis, wrapText } from "../../../analysis/figures/theme.ts";

const ROW_HEIGHT = 34;

/** Accuracies with intervals, one panel and one scale per dataset. */
export function accuracyChart(
  results: Results,
  options: { readonly title?: string | undefined; readonly width: number },
): Chart {
  const title = options.title ?? "Test accuracy";
  const entries = results.datasets.filter((entry) =>
    results.conditions.some((cell) => cell.dataset === entry.dataset)
  );
  const labels = results.conditions.map((cell) => label(cell, results));
  const extent = 12 + 7 * Math.max(4, ...labels.map((each) => each.length));
  const published = results.conditions.some((cell) => cell.published.length > 0);
  const level = percent(results.confidence, 0);
  const subtitle = `Rings: one seed each. Diamond and bar: mean and ${level} % Student t ` +
    "interval. " + (published ? "Square: as the paper printed it. " : "") +
    `Numbers: mean ± standard deviation${published ? ", then the paper's" : ""}.` +
    (entries.some((entry) => runsPastEdge(results, entry.dataset))
      ? " A bar that touches the edge runs on."
      : "");
  return {
    name: "accuracy",
    title,
    description: entries.length === 0 ? "There are no runs to show." : entries.map((entry) => {
      const own = results.conditions.filter((cell) => cell.dataset === entry.dataset);
      return `${datasetTitle(entry, entry.dataset)} (${kindLabel(entry)}): ${
        own.map((cell) => `${label(cell, results)} ${text(cell)}`).join("; ")
      }.`;
    }).join(" "),
    spec: {
      title: {
        text: title,
        frame: "bounds",
        subtitle: wrapText(subtitle, (options.width + extent + 150) * 0.165),
      },
      spacing: 18,
      vconcat: entries.length === 0
        ? [emptyPanel("No run was evaluated", options.width)]
        : entries.map((entry, index) => ({
          title: {
            text: `${datasetTitle(entry, entry.dataset)} · ${kindLabel(entry)}`,
            fontSize: 13,
            offset: 4,
            frame: "bounds",
          },
          ...panel(results, {
            dataset: entry.dataset,
            extent,
            width: options.width,
            last: index === entries.length - 1,
          }),
        })),
    },
  };
}

function label(cell: Condition, results: Results): string {
  const encoding = results.encodings.length > 1 ? `, ${encodingTitle(cell.encoding)}` : "";
  return operatorTitle(cell.operator) + encoding;
}

function text(cell: Condition): string {
  const paper = cell.published[0] === undefined ? "" : `, paper ${percent(cell.published[0].mean)}`;
  return accuracyText(cell) + paper;
}

function panel(
  results: Results,
  options: {
    readonly dataset: string;
    readonly extent: number;
    readonly width: number;
    readonly last: boolean;
  },
): Record<string, unknown> {
  const { extent, width } = options;
  const cells = results.conditions.filter((cell) => cell.dataset === options.dataset);
  const rows = cells.map((cell) => ({
    label: label(cell, results),
    mean: cell.mean * 100,
    text: text(cell),
    paper: cell.published[0] === undefined ? null : cell.published[0].mean * 100,
    cell,
  }));
  const domain = accuracyDomain(cells);
  const inside = (value: number) => Math.min(domain[1], Math.max(domain[0], value * 100));
  const x = (field: string) => ({
    field,
    type: "quantitative",
    scale: { domain, nice: false, zero: false },
    axis: {
      title: options.last ? "Test accuracy, percent" : null,
      grid: true,
      tickCount: 8,
    },
  });
  const y = rowAxis(rows.map((row) => row.label), extent);
  const values = rows.map(({ cell: _, ...row }) => row);
  const point = (field: string, mark: Record<string, unknown>) => ({
    mark: { type: "point", opacity: 1, ...mark },
    encoding: { x: x(field), y },
  });
  return {
    width,
    height: ROW_HEIGHT * rows.length,
    layer: [
      {
        data: {
          values: rows.flatMap(({ cell, label }) =>
            cell.interval
              ? [{ label, low: inside(cell.interval[0]), high: inside(cell.interval[1]) }]
              : []
          ),
        },
        mark: { type: "rule", color: INK, strokeWidth: 2, yOffset: 6, y2Offset: 6 },
        encoding: { x: x("low"), x2: { field: "high" }, y },
      },
      {
        data: { values: values.filter((row) => row.paper !== null) },
        ...point("paper", {
          shape: "square",
          filled: false,
          color: COLOURS[1],
          strokeWidth: 2,
          size: 80,
          yOffset: 6,
        }),
      },
      {
        data: { values },
        ...point("mean", { shape: "diamond", filled: true, color: INK, size: 90, yOffset: 6 }),
      },
      {
        data: {
          values: rows.flatMap(({ cell, label }) =>
            cell.runs.map((run) => ({ label, value: run.accuracy * 100 }))
          ),
        },
        ...point("value", {
          shape: "circle",
          filled: false,
          color: COLOURS[0],
          strokeWidth: 1.6,
          size: 46,
          yOffset: -6,
        }),
      },
      {
        data: { values },
        mark: { type: "text", align: "left", x: width + 12, fontSize: 12, color: INK },
        encoding: { text: { field: "text" }, y },
      },
    ],
  };
}

function runsPastEdge(results: Results, dataset: string): boolean {
  const cells = results.conditions.filter((cell) => cell.dataset === dataset);
  const [from, to] = accuracyDomain(cells);
  return cells.some((cell) =>
    cell.interval !== null && (cell.interval[0] * 100 < from || cell.interval[1] * 100 > to)
  );
}

/** Every seed and every printed value; intervals too unless they are far wider. */
function accuracyDomain(cells: readonly Condition[]): [number, number] {
  const values = cells.flatMap((cell) => [
    ...cell.runs.map((run) => run.accuracy),
    ...cell.published.slice(0, 1).map((printed) => printed.mean),
  ]);
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = high - low || 0.02;
  const ends = cells.flatMap((cell) => cell.interval ?? []);
  const from = Math.max(Math.min(low, ...ends), low - span / 2, 0);
  const to = Math.min(Math.max(high, ...ends), high + span / 2, 1);
  const margin = (to - from) * 0.04 || 0.01;
  return [(from - margin) * 100, (to + margin) * 100];
}

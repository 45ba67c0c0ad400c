/**
 * Paired differences: one panel per dataset, one row per operator, every seed's delta as a ring,
 * the mean as a diamond on its interval.
 *
 * @module
 */
import { datasetTitle, kindLabel } from "../accuracy_table.ts";
import { counted, percent, points, pointsInterval } from "../format.ts";
import { compareText, encodingTitle, operatorTitle } from "../order.ts";
import type { Delta, Results } from "../results.ts";
import {
  type Chart,
  COLOURS,
  FAINT,
  INK,
  rowAxis,
  wrapText,
} from "../../../analysis/figures/theme.ts";

const ROW_HEIGHT = 34;
/** Characters of 12-pixel type per pixel of width, for wrapping. */
const CHARACTERS_PER_PIXEL = 0.165;

/** One labelled row of a panel. */
export interface DeltaRow {
  readonly label: string;
  readonly n: number;
  readonly mean: number;
  readonly interval: readonly [number, number] | null;
  readonly values: readonly number[];
}

/** One panel: rows under a heading. */
export interface DeltaPanel {
  readonly heading: string;
  readonly rows: readonly DeltaRow[];
}

/**
 * The delta chart of all datasets on one scale, which shows how effects compare in size.
 *
 * @param options.width Width of the plotting area in pixels.
 */
export function deltaChart(
  results: Results,
  options: { readonly title?: string | undefined; readonly width: number },
): Chart {
  const baseline = operatorTitle(results.baseline);
  const panels = results.datasets.flatMap((entry) => {
    const deltas = results.deltas.filter((delta) => delta.dataset === entry.dataset);
    if (deltas.length === 0) return [];
    return [{
      heading: `${datasetTitle(entry, entry.dataset)} · ${kindLabel(entry)}`,
      rows: deltas.map((delta) => row(delta, results)),
    }];
  });
  const level = percent(results.confidence, 0);
  return pairedChart(panels, {
    name: "delta",
    title: options.title ?? `Accuracy difference from ${baseline} under the same seed`,
    subtitle: `Rings: one seed each. Diamond and bar: mean and ${level} % Student t interval. ` +
      `Numbers: mean [interval], seeds.`,
    axis: `Test accuracy minus ${baseline}'s, percentage points`,
    width: options.width,
  });
}

/** A forest chart of paired differences on one shared scale around zero. */
export function pairedChart(
  panels: readonly DeltaPanel[],
  options: {
    readonly name: string;
    readonly title: string;
    readonly subtitle: string;
    readonly axis: string;
    readonly width: number;
  },
): Chart {
  const rows = panels.flatMap((panel) => panel.rows);
  const domain = sharedDomain(rows);
  const extent = 12 + 7 * Math.max(4, ...rows.map((each) => each.label.length));
  const clipped = rows.some((each) => outside(each, domain));
  const subtitle = options.subtitle +
    (clipped ? " An arrow marks an interval that runs past the edge." : "");
  return {
    name: options.name,
    title: options.title,
    description: panels.length === 0 ? "There are no paired runs to show." : panels
      .map((panel) => `${panel.heading}: ${panel.rows.map(rowSentence).join("; ")}.`)
      .join(" "),
    spec: {
      title: {
        text: options.title,
        frame: "bounds",
        subtitle: wrapText(subtitle, (options.width + extent + 150) * CHARACTERS_PER_PIXEL),
      },
      spacing: 18,
      vconcat: panels.length === 0
        ? [emptyPanel("No operator was run under the same seed as the baseline", options.width)]
        : panels.map((panel, index) => {
          const last = index === panels.length - 1;
          return panelSpec(panel, { ...options, domain, extent, last });
        }),
    },
  };
}

/** A panel that says why there is nothing to see. */
export function emptyPanel(text: string, width: number): Record<string, unknown> {
  return {
    width,
    height: 60,
    data: { values: [{}] },
    mark: { type: "text", text, fontSize: 13, color: FAINT },
  };
}

function row(delta: Delta, results: Results): DeltaRow {
  const encoding = results.encodings.length > 1 ? `, ${encodingTitle(delta.encoding)}` : "";
  return {
    label: operatorTitle(delta.operator) + encoding,
    n: delta.n,
    mean: delta.mean,
    interval: delta.interval,
    values: delta.pairs.map((pair) => pair.delta),
  };
}

function rowSentence(each: DeltaRow): string {
  const interval = each.interval ? `, interval ${pointsInterval(each.interval)}` : "";
  return `${each.label} ${points(each.mean)} points${interval}, ${counted(each.n, "seed")}`;
}

function rowText(each: DeltaRow): string {
  return each.interval
    ? `${points(each.mean)} ${pointsInterval(each.interval)}, n = ${each.n}`
    : `${points(each.mean)} [no interval], n = ${each.n}`;
}

/**
 * Covers zero, every seed and every mean; intervals too, unless they would shrink the rest below
 * a third of the width, as those from two seeds do.
 */
function sharedDomain(rows: readonly DeltaRow[]): [number, number] {
  const values = [0, ...rows.flatMap((each) => [...each.values, each.mean])];
  const low = Math.min(...values);
  const high = Math.max(...values);
  const span = high - low || 0.01;
  const ends = rows.flatMap((each) => each.interval ?? []);
  const from = Math.max(Math.min(low, ...ends), low - span);
  const to = Math.min(Math.max(high, ...ends), high + span);
  const margin = (to - from) * 0.04 || 0.01;
  return [(from - margin) * 100, (to + margin) * 100];
}

function outside(each: DeltaRow, domain: readonly [number, number]): boolean {
  return each.interval !== null &&
    (each.interval[0] * 100 < domain[0] || each.interval[1] * 100 > domain[1]);
}

function panelSpec(
  panel: DeltaPanel,
  options: {
    readonly domain: [number, number];
    readonly extent: number;
    readonly width: number;
    readonly last: boolean;
    readonly axis: string;
  },
): Record<string, unknown> {
  const { domain, extent, width, last } = options;
  const labels = panel.rows.map((each) => each.label);
  const x = (field: string) => ({
    field,
    type: "quantitative",
    scale: { domain, nice: false, zero: false },
    axis: {
      title: last ? options.axis : null,
      grid: true,
      tickCount: 8,
      format: "+~r",
      labelExpr: "datum.value === 0 ? '0' : datum.label",
      labels: last,
      ticks: last,
      domain: last,
    },
  });
  const y = rowAxis(labels, extent);
  const inside = (value: number) => Math.min(domain[1], Math.max(domain[0], value));
  const means = panel.rows.map((each) => ({
    label: each.label,
    mean: each.mean * 100,
    low: each.interval ? inside(each.interval[0] * 100) : each.mean * 100,
    high: each.interval ? inside(each.interval[1] * 100) : each.mean * 100,
    text: rowText(each),
  }));
  const seeds = panel.rows.flatMap((each) =>
    each.values.map((value) => ({ label: each.label, value: value * 100 }))
  );
  const arrows = panel.rows.flatMap((each) => [
    ...(each.interval && each.interval[0] * 100 < domain[0]
      ? [{ label: each.label, at: domain[0], side: "left" }]
      : []),
    ...(each.interval && each.interval[1] * 100 > domain[1]
      ? [{ label: each.label, at: domain[1], side: "right" }]
      : []),
  ]).sort((a, b) => compareText(a.side, b.side));
  const arrow = (side: "left" | "right") => ({
    data: { values: arrows.filter((each) => each.side === side) },
    mark: {
      type: "point",
      shape: `triangle-${side}`,
      filled: true,
      color: INK,
      size: 60,
      yOffset: 6,
      opacity: 1,
    },
    encoding: { x: x("at"), y },
  });
  return {
    title: { text: panel.heading, fontSize: 13, offset: 4, frame: "bounds" },
    width,
    height: ROW_HEIGHT * panel.rows.length,
    layer: [
      {
        data: { values: [{ zero: 0 }] },
        mark: { type: "rule", color: INK, strokeWidth: 1.2 },
        encoding: { x: x("zero") },
      },
      {
        data: { values: means },
        mark: { type: "rule", color: INK, strokeWidth: 2, yOffset: 6, y2Offset: 6 },
        encoding: { x: x("low"), x2: { field: "high" }, y },
      },
      ...(["left", "right"] as const).filter((side) => arrows.some((each) => each.side === side))
        .map(arrow),
      {
        data: { values: means },
        mark: {
          type: "point",
          shape: "diamond",
          filled: true,
          color: INK,
          size: 90,
          yOffset: 6,
          opacity: 1,
        },
        encoding: { x: x("mean"), y },
      },
      {
        data: { values: seeds },
        mark: {
          type: "point",
          shape: "circle",
          filled: false,
          color: COLOURS[0],
          strokeWidth: 1.6,
          size: 46,
          yOffset: -6,
          opacity: 1,
        },
        encoding: { x: x("value"), y },
      },
      {
        data: { values: means },
        mark: { type: "text", align: "left", x: width + 12, fontSize: 12, color: INK },
        encoding: { text: { field: "text" }, y },
      },
    ],
  };
}

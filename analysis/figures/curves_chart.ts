/**
 * Lines in a grid of panels, below a legend that shows each line's colour, dash and shape.
 *
 * @module
 */
import {
  INK,
  layer,
  PAGE,
  panelLines,
  panelTitle,
  seriesLook,
  textWidth,
  titleOf,
  wrapText,
} from "./theme.ts";

/** A point of a line, in shown units. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** What one look means in one panel. */
export interface Series {
  readonly label: string;
  readonly seeds: number;
  readonly mean: readonly Point[];
  /** The mean before it was thinned out. */
  readonly ends: readonly Point[];
  readonly faint: readonly (readonly Point[])[];
  readonly band: readonly { readonly x: number; readonly low: number; readonly high: number }[];
}

/** One panel of the grid. */
export interface CurvesPanel {
  readonly title: string;
  /** Panels of a row with one group have the same axes. */
  readonly group: string;
  readonly x: string;
  readonly axis: string;
  readonly domain: readonly [number, number] | undefined;
  readonly digits: number;
  readonly series: readonly Series[];
}

/** What a panel's axis takes, pixels. */
const AXIS = 76;
const COLUMNS = 4;
/** Points are marked, so that a line of a single one can be seen, where there are no more than these. */
const MARKED = 12;

/** A Vega-Lite specification; `grid` has a row for each column of the table. */
export function curvesSpec(
  grid: readonly (readonly CurvesPanel[])[],
  options: {
    readonly title: string;
    readonly subtitle: string;
    /** Series that are drawn, in order. */
    readonly labels: readonly string[];
    /** All series by the place of their looks: a series has one look in all panels. */
    readonly looks: readonly string[];
    readonly width: number;
    /** Whether zero means no difference. */
    readonly zero: boolean;
  },
): Record<string, unknown> {
  const rows = rowsOf(grid);
  const columns = Math.max(...rows.map((row) => row.length));
  const width = Math.min(options.width, Math.floor(PAGE / columns) - AXIS);
  const total = columns * (width + AXIS);
  const marked = grid.flat().every(({ series }) =>
    series.every(({ mean }) => mean.length <= MARKED)
  );
  const peersOf = new Map(
    grid.flatMap((row) =>
      row.map((panel) => [panel, row.filter(({ group }) => group === panel.group)] as const)
    ),
  );
  return {
    title: titleOf(options, total),
    spacing: 14,
    vconcat: [
      legend(options, { width: Math.max(320, total - AXIS), marked }),
      ...rows.map((row) => {
        const lines = Math.max(...row.map(({ title }) => panelLines(title, width).length));
        return {
          spacing: 20,
          hconcat: row.map((panel, column) =>
            panelSpec(panel, {
              ...options,
              width,
              marked,
              lines,
              peers: peersOf.get(panel)!,
              first: column === 0 || panel.axis !== row[0]!.axis,
            })
          ),
        };
      }),
    ],
  };
}

/** At most four panels a row; columns of the table below each other, of a single panel side by side. */
function rowsOf(grid: readonly (readonly CurvesPanel[])[]): (readonly CurvesPanel[])[] {
  const rows = grid.every((row) => row.length === 1) ? [grid.flat()] : grid;
  const chunks = Math.ceil(Math.max(...rows.map((row) => row.length)) / COLUMNS);
  return Array.from(
    { length: chunks },
    (_, chunk) => rows.map((row) => row.slice(chunk * COLUMNS, (chunk + 1) * COLUMNS)),
  ).flat().filter((row) => row.length > 0);
}

/** Colour, dash and shape of each series by its place, for a legend drawn beside it. */
function looksOf(labels: readonly string[]): Record<"colour" | "dash" | "shape", unknown> {
  const looks = labels.map((_, index) => seriesLook(index));
  const scale = (range: readonly unknown[]) => ({
    ...{ field: "label", type: "nominal", legend: null },
    scale: { domain: labels, range },
  });
  return {
    colour: scale(looks.map(({ colour }) => colour)),
    dash: scale(looks.map(({ dash }) => dash)),
    shape: scale(looks.map(({ shape }) => shape)),
  };
}

const MEAN = { type: "line", strokeWidth: 2.2 };
const POINT = { type: "point", filled: true, size: 40, opacity: 1 };

/** Swatches with dash and shape as the lines have them. */
function legend(
  { labels, looks }: { readonly labels: readonly string[]; readonly looks: readonly string[] },
  { width, marked }: { readonly width: number; readonly marked: boolean },
): Record<string, unknown> {
  const [swatch, gap, rowHeight] = [34, 26, 20];
  const item = swatch + 8 + Math.max(...labels.map((label) => textWidth(label, 12))) + gap;
  const columns = Math.max(1, Math.min(labels.length, Math.floor((width + gap) / item)));
  const height = rowHeight * Math.ceil(labels.length / columns);
  const scale = (end: number, reverse = false) => ({
    type: "quantitative",
    axis: null,
    scale: { domain: [0, end], nice: false, zero: false, reverse },
  });
  const x = (field: string) => ({ field, ...scale(width) });
  const y = { field: "y", ...scale(height, true) };
  const { colour: color, dash: strokeDash, shape } = looksOf(looks);
  const values = labels.map((label, index) => {
    const from = (index % columns) * item;
    const y = rowHeight * (Math.floor(index / columns) + 0.5);
    return {
      label,
      from,
      middle: from + swatch / 2,
      to: from + swatch,
      text: from + swatch + 8,
      y,
    };
  });
  return {
    width,
    height,
    data: { values },
    layer: [
      {
        mark: { ...MEAN, type: "rule" },
        encoding: { x: x("from"), x2: { field: "to" }, y, color, strokeDash },
      },
      ...marked ? [{ mark: POINT, encoding: { x: x("middle"), y, color, shape } }] : [],
      {
        mark: { type: "text", align: "left", fontSize: 12, color: INK },
        encoding: { x: x("text"), y, text: { field: "label" } },
      },
    ],
  };
}

function panelSpec(panel: CurvesPanel, options: {
  readonly looks: readonly string[];
  readonly width: number;
  readonly marked: boolean;
  /** Lines of the longest title in its row. */
  readonly lines: number;
  readonly first: boolean;
  readonly zero: boolean;
  /** Panels with the same axes, itself among them. */
  readonly peers: readonly CurvesPanel[];
}): Record<string, unknown> {
  const height = Math.min(190, Math.max(130, options.width * 0.6));
  const x = {
    field: "x",
    type: "quantitative",
    title: panel.x,
    ...xAxis(options.peers, options.width),
  };
  const y = {
    field: "y",
    type: "quantitative",
    // A title longer than its axis would push the panel's own title up.
    title: options.first ? wrapText(panel.axis, height / 6.5) : null,
    scale: panel.domain === undefined
      // The topmost tick at the top of every panel: panels of a row are then level.
      ? { zero: false, nice: 5, ...options.peers.length > 1 ? { domain: ends(options) } : {} }
      : { domain: panel.domain, nice: false },
    axis: { tickCount: 5, minExtent: 32 },
  };
  const { colour: color, dash: strokeDash, shape } = looksOf(options.looks);
  const all = <T>(of: (series: Series) => readonly T[]) =>
    panel.series.flatMap((series) =>
      of(series).map((point) => ({ label: series.label, ...point }))
    );
  const faint = all(({ faint }) =>
    faint.flatMap((points, line) => points.map((point) => ({ line, ...point })))
  );
  const mean = all((series) => series.mean);
  // Many bands hide each other.
  const opacity = panel.series.length > 3 ? 0.1 : 0.16;
  return {
    title: panelTitle(panel.title, options.width, options.lines),
    width: options.width,
    height,
    layer: [
      ...layer(options.zero ? [{ y: 0 }] : [], { type: "rule", color: INK, strokeWidth: 1 }, { y }),
      ...layer(all(({ band }) => band), { type: "area", opacity }, {
        ...{ x, color, y: { ...y, field: "low" }, y2: { field: "high" } },
      }),
      ...layer(faint, { type: "line", strokeWidth: 0.8, opacity: 0.4 }, {
        ...{ x, y, color, detail: { field: "line", type: "nominal" } },
      }),
      ...layer(mean, MEAN, { x, y, color, strokeDash }),
      ...layer(options.marked ? mean : [], POINT, { x, y, color, shape }),
    ],
  };
}

/** The lowest and the highest that is drawn in panels with the same axes. */
function ends({ peers, zero }: {
  readonly peers: readonly CurvesPanel[];
  readonly zero: boolean;
}): readonly [number, number] {
  const values = peers.flatMap(({ series }) =>
    series.flatMap(({ mean, faint, band }) => [
      ...[...mean, ...faint.flat()].map(({ y }) => y),
      ...band.flatMap(({ low, high }) => [low, high]),
    ])
  ).concat(zero ? [0] : []);
  return [
    values.reduce((a, b) => Math.min(a, b), Infinity),
    values.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
}

/** Ends at the first and the last x; a tick for each of a few whole numbers. */
function xAxis(panels: readonly CurvesPanel[], width: number): Record<string, unknown> {
  const xs = [
    ...new Set(
      panels.flatMap(({ series }) => series.flatMap(({ ends }) => ends.map(({ x }) => x))),
    ),
  ];
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const whole = xs.every(Number.isInteger);
  const step = Math.max(1, Math.ceil((last - first) / Math.max(4, width / 40)));
  const few = whole && last - first <= 24;
  return {
    scale: { domain: [first, last > first ? last : first + 1], nice: false, zero: false },
    axis: {
      grid: false,
      labelFlush: false,
      ...few
        ? {
          format: "d",
          labelOverlap: false,
          // Vega keeps as many values as steps of this length fit: of three values and two steps the ends.
          tickMinStep: 0.5,
          values: Array.from(
            { length: Math.floor((last - first) / step) + 1 },
            (_, index) => first + index * step,
          ),
        }
        : { tickCount: 4, ...whole ? { format: last >= 10_000 ? "~s" : "d" } : {} },
    },
  };
}

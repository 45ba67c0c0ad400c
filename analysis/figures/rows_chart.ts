/**
 * Labelled rows in panels, drawn as points or as bars, each with its numbers beside it.
 *
 * @module
 */
import {
  type Chart,
  COLOURS,
  emptyChart,
  INK,
  panelTitle,
  rowAxis,
  textWidth,
  titleOf,
} from "./theme.ts";

/** One labelled row of a panel, in shown units. */
export interface Row {
  readonly label: string;
  /** One for each seed. */
  readonly values: readonly number[];
  readonly mean: number;
  readonly interval: readonly [number, number] | null;
  /** What the paper printed. */
  readonly printed: readonly number[];
  /** Its numbers in words. */
  readonly text: string;
}

/** Rows under a heading. */
export interface RowPanel {
  readonly title: string;
  /** Whether we measured them. */
  readonly ours: boolean;
  readonly rows: readonly Row[];
}

/** What a chart of rows is called, and how it is drawn. */
export interface RowsOptions {
  readonly name: string;
  readonly title: string;
  readonly subtitle: string;
  readonly axis: string;
  readonly marks: "points" | "bars";
  /** Whether values are differences, around zero. */
  readonly signed: boolean;
  /** Pixels of the plotting area. */
  readonly width: number;
  /** No axis goes beyond it. */
  readonly max: number | undefined;
  /** Whether each panel has an axis of its own. */
  readonly own: boolean;
}

type Domain = readonly [number, number];

const ROW_HEIGHT = 34;
const TEXT_GAP = 14;

/** All panels below each other, on one axis unless they are not compared. */
export function rowsChart(panels: readonly RowPanel[], options: RowsOptions): Chart {
  const { name, title, width } = options;
  const all = panels.flatMap(({ rows }) => rows);
  if (all.length === 0) return emptyChart({ name, title }, width);
  const extent = 16 + Math.max(...all.map(({ label }) => textWidth(label, 12)));
  const beside = TEXT_GAP + Math.max(...all.map(({ text }) => textWidth(text, 12)));
  const domains = panels.map(({ rows }) => domainOf(options.own ? rows : all, options));
  const clipped = panels.some(({ rows }, index) =>
    rows.some((row) => sidesOf(row, domains[index]!).length > 0)
  );
  const subtitle = options.subtitle +
    (clipped ? " An arrow marks an interval that runs past the edge." : "");
  return {
    name,
    title,
    description: `${options.axis}. ` +
      panels.map((panel) =>
        `${panel.title === "" ? "" : `${panel.title}: `}${
          panel.rows.map(({ label, text }) => `${label} ${text}`).join("; ")
        }.`
      ).join(" "),
    spec: {
      title: titleOf({ title, subtitle }, extent + width + beside),
      spacing: 18,
      resolve: { scale: { x: "independent" } },
      vconcat: panels.map((panel, index) => {
        const last = options.own || index === panels.length - 1;
        return panelSpec(panel, { ...options, domain: domains[index]!, extent, beside, last });
      }),
    },
  };
}

/**
 * Covers every seed, mean and printed value, and zero where it has a meaning; intervals too, unless
 * they would shrink the rest below a third of the width.
 */
function domainOf(rows: readonly Row[], { marks, signed, max = Infinity }: RowsOptions): Domain {
  const fromZero = marks === "bars" || signed;
  const values = [
    ...fromZero ? [0] : [],
    ...rows.flatMap((row) => [...row.values, row.mean, ...row.printed]),
  ];
  if (marks === "bars" && max < Infinity) return [Math.min(...values), max];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const span = high - low || Math.abs(high) * 0.02 || 1;
  const ends = rows.flatMap(({ interval }) => interval ?? []);
  const reach = marks === "bars" ? span / 2 : span;
  const from = Math.max(Math.min(low, ...ends), low - reach);
  const to = Math.min(Math.max(high, ...ends), high + reach);
  const margin = (to - from) * 0.04 || span * 0.04;
  return [
    low >= 0 && (fromZero && !signed || from - margin < 0 && !signed) ? 0 : from - margin,
    Math.min(max, to + margin),
  ];
}

type Side = "left" | "right";

/** The sides on which a row's interval runs past the edge. */
function sidesOf({ interval }: Row, [from, to]: Domain): Side[] {
  if (interval === null) return [];
  return [
    ...interval[0] < from ? ["left" as const] : [],
    ...interval[1] > to ? ["right" as const] : [],
  ];
}

function panelSpec(
  { title, ours, rows }: RowPanel,
  options: RowsOptions & {
    readonly domain: Domain;
    readonly extent: number;
    readonly beside: number;
    readonly last: boolean;
  },
): Record<string, unknown> {
  const { domain, extent, width, last, marks, signed } = options;
  const x = (field: string) => ({
    field,
    type: "quantitative",
    scale: { domain, nice: false, zero: false },
    axis: {
      title: last ? options.axis : null,
      grid: true,
      tickCount: 8,
      labelFlush: false,
      ...signed ? { format: "+~r", labelExpr: "datum.value === 0 ? '0' : datum.label" } : {},
      labels: last,
      ticks: last,
      domain: last,
    },
  });
  const y = rowAxis(rows.map(({ label }) => label), extent);
  const lower = marks === "bars" ? 0 : 6;
  const at = (field: string, values: readonly number[], { label }: Row) =>
    values.map((value) => ({ label, [field]: value }));
  const points = (values: readonly unknown[], field: string, mark: Record<string, unknown>) =>
    values.length === 0 ? [] : [{
      data: { values },
      mark: { type: "point", opacity: 1, ...mark },
      encoding: { x: x(field), y },
    }];
  const arrows = (["left", "right"] as const).flatMap((side) =>
    points(
      rows.filter((row) => sidesOf(row, domain).includes(side))
        .flatMap((row) => at("edge", [domain[side === "left" ? 0 : 1]], row)),
      "edge",
      { shape: `triangle-${side}`, filled: true, color: INK, size: 60, yOffset: lower },
    )
  );
  const main = rows.map(({ label, mean, text }) => ({ label, mean, text }));
  const seeds = rows.flatMap((row) => at("value", row.values, row));
  const printed = rows.flatMap((row) => at("printed", row.printed, row));
  return {
    title: panelTitle(title, extent + width + options.beside),
    width,
    height: ROW_HEIGHT * rows.length,
    layer: [
      ...signed
        ? [{
          data: { values: [{ zero: 0 }] },
          mark: { type: "rule", color: INK, strokeWidth: 1.2 },
          encoding: { x: x("zero") },
        }]
        : [],
      ...marks === "bars" ? [barLayer(main, { x: x("mean"), y, ours })] : [],
      intervalLayer(rows, { domain, x, y, lower }),
      ...arrows,
      ...points(printed, "printed", {
        shape: "square",
        filled: false,
        color: COLOURS[1],
        strokeWidth: 2,
        size: 80,
        yOffset: lower,
      }),
      ...marks === "points"
        ? [
          ...points(main, "mean", {
            shape: "diamond",
            filled: true,
            color: INK,
            size: 90,
            yOffset: lower,
          }),
          ...points(seeds, "value", {
            shape: "circle",
            filled: false,
            color: COLOURS[0],
            strokeWidth: 1.6,
            size: 46,
            yOffset: -lower,
          }),
        ]
        : [],
      {
        data: { values: main },
        mark: { type: "text", align: "left", x: width + TEXT_GAP, fontSize: 12, color: INK },
        encoding: { text: { field: "text" }, y },
      },
    ],
  };
}

/** Bars; the paper's are hollow, since colour alone must not tell them apart. */
function barLayer(
  values: readonly unknown[],
  { x, y, ours }: { readonly x: unknown; readonly y: unknown; readonly ours: boolean },
): Record<string, unknown> {
  const look = ours ? { color: COLOURS[0] } : { fill: null, stroke: COLOURS[1], strokeWidth: 1.6 };
  return { data: { values }, mark: { type: "bar", height: 16, ...look }, encoding: { x, y } };
}

function intervalLayer(
  rows: readonly Row[],
  { domain, x, y, lower }: {
    readonly domain: Domain;
    readonly x: (field: string) => unknown;
    readonly y: unknown;
    readonly lower: number;
  },
): Record<string, unknown> {
  const inside = (value: number) => Math.min(domain[1], Math.max(domain[0], value));
  return {
    data: {
      values: rows.flatMap(({ label, interval }) =>
        interval === null ? [] : [{ label, low: inside(interval[0]), high: inside(interval[1]) }]
      ),
    },
    mark: { type: "rule", color: INK, strokeWidth: 2, yOffset: lower, y2Offset: lower },
    encoding: { x: x("low"), x2: { field: "high" }, y },
  };
}

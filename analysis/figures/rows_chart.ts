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
  layer,
  panelTitle,
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
interface RowsOptions {
  readonly name: string;
  readonly title: string;
  readonly subtitle: string;
  readonly axis: string;
  /** Of a panel of printed values with an axis of its own. */
  readonly printedAxis?: string;
  /** Whether means are drawn as bars, without seeds. */
  readonly bars?: boolean;
  /** Whether values are differences, around zero. */
  readonly signed?: boolean;
  /** Pixels of the plotting area. */
  readonly width: number;
  /** No axis goes beyond it. */
  readonly max: number | undefined;
  /** Whether each panel has an axis of its own. */
  readonly own?: boolean;
}

type Domain = readonly [number, number];

const ROW_HEIGHT = 34;
const TEXT_GAP = 14;

const ZERO = { type: "rule", color: INK, strokeWidth: 1.2 };
const INTERVAL = { type: "rule", color: INK, strokeWidth: 2 };
const BAR = { type: "bar", height: 16, color: COLOURS[0] };
/** Hollow, since colour alone must not tell ours and the paper's apart. */
const PRINTED_BAR = { type: "bar", height: 16, fill: null, stroke: COLOURS[1], strokeWidth: 1.6 };
const POINT = { type: "point", opacity: 1, filled: false };
const PRINTED = { ...POINT, shape: "square", color: COLOURS[1], strokeWidth: 2, size: 80 };
const MEAN = { ...POINT, shape: "diamond", filled: true, color: INK, size: 90 };
const SEED = { ...POINT, shape: "circle", color: COLOURS[0], strokeWidth: 1.6, size: 46 };

/** All panels below each other, on one axis unless they are not compared. */
export function rowsChart(panels: readonly RowPanel[], options: RowsOptions): Chart {
  const { name, title, width } = options;
  const all = panels.flatMap(({ rows }) => rows);
  if (all.length === 0) return emptyChart({ name, title }, width);
  const extent = 16 + Math.max(...all.map(({ label }) => textWidth(label, 12)));
  const beside = TEXT_GAP + Math.max(...all.map(({ text }) => textWidth(text, 12)));
  const domains = panels.map(({ rows }) => domainOf(options.own ? rows : all, options));
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
      title: titleOf(options, extent + width + beside),
      spacing: 18,
      resolve: { scale: { x: "independent" } },
      vconcat: panels.map((panel, index) => {
        const last = options.own === true || index === panels.length - 1;
        return panelSpec(panel, { ...options, domain: domains[index]!, extent, beside, last });
      }),
    },
  };
}

/** Covers every seed, interval and printed value, and zero where it has a meaning. */
function domainOf(rows: readonly Row[], { bars, signed, max = Infinity }: RowsOptions): Domain {
  const values = [
    ...bars || signed ? [0] : [],
    ...rows.flatMap((row) => [...row.values, row.mean, ...row.interval ?? [], ...row.printed]),
  ];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (bars && max < Infinity) return [low, max];
  const margin = 0.04 * (high - low || Math.abs(high) || 1);
  const from = low - margin;
  return [
    low >= 0 && !signed && (bars || from < 0) ? 0 : from,
    Math.min(max, high + margin),
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
  const { domain, extent, width, last, bars, signed } = options;
  const x = (field: string) => ({
    field,
    type: "quantitative",
    scale: { domain, nice: false, zero: false },
    axis: {
      title: !last ? null : options.own && !ours ? options.printedAxis : options.axis,
      grid: true,
      tickCount: 8,
      labelFlush: false,
      ...signed ? { format: "+~r", labelExpr: "datum.value === 0 ? '0' : datum.label" } : {},
      labels: last,
      ticks: last,
      domain: last,
    },
  });
  const labels = { minExtent: extent, maxExtent: extent, labelPadding: 8 };
  const y = {
    ...{ field: "label", type: "nominal", sort: rows.map(({ label }) => label) },
    axis: { title: null, domain: false, ticks: false, ...labels },
  };
  const lower = bars ? 0 : 6;
  const main = rows.map(({ label, mean, text }) => ({ label, mean, text }));
  const each = (field: "values" | "printed") =>
    rows.flatMap((row) => row[field].map((value) => ({ label: row.label, value })));
  const intervals = rows.flatMap(({ label, interval }) =>
    interval === null ? [] : [{ label, low: interval[0], high: interval[1] }]
  );
  const text = { type: "text", align: "left", x: width + TEXT_GAP, fontSize: 12, color: INK };
  return {
    title: panelTitle(title, extent + width + options.beside),
    width,
    height: ROW_HEIGHT * rows.length,
    layer: [
      ...layer(signed ? [{ zero: 0 }] : [], ZERO, { x: x("zero") }),
      ...layer(bars ? main : [], ours ? BAR : PRINTED_BAR, { x: x("mean"), y }),
      ...layer(intervals, { ...INTERVAL, yOffset: lower, y2Offset: lower }, {
        ...{ x: x("low"), x2: { field: "high" }, y },
      }),
      ...layer(each("printed"), { ...PRINTED, yOffset: lower }, { x: x("value"), y }),
      ...layer(bars ? [] : main, { ...MEAN, yOffset: lower }, { x: x("mean"), y }),
      ...layer(bars ? [] : each("values"), { ...SEED, yOffset: -lower }, { x: x("value"), y }),
      ...layer(main, text, { text: { field: "text" }, y }),
    ],
  };
}

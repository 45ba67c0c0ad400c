/**
 * What a cell of a summary shows: a statistic of the runs at its place.
 *
 * @module
 */
import type { Metric, Where } from "../spec/axes.ts";
import type { Measure } from "../spec/tables.ts";
import { FEWEST_FOR_INTERVAL, summarize } from "../statistics/sample.ts";
import {
  baselineOf,
  changesOf,
  keyOf,
  metricOf,
  rowsAt,
  shownChange,
  type Study,
  summaryOf,
} from "../study.ts";
import type { At } from "../tidy/table.ts";
import { cutOff, formatsOf, intervalText, NONE, rangeText, signed } from "./format.ts";
import { completed, everyId, linkOfPairs, runsAnchor, type Sheet } from "./places.ts";
import { printedBeside, printedChange, printedText } from "./printed.ts";

/** The numbers of each kind of cell, by what CSV names them. */
export const STATISTICS: Readonly<Record<Measure["show"], readonly string[]>> = {
  mean_sd: ["mean", "sd", "n"],
  mean: ["mean"],
  sd: ["sd"],
  interval: ["low", "high"],
  n: ["n"],
  min_max: ["min", "max"],
  change: ["change"],
  change_sd: ["change_sd"],
  change_interval: ["change_low", "change_high"],
  wins_losses: ["wins", "losses"],
  published: ["published", "published_spread"],
  published_change: ["published_change"],
};

/** A cell, and its numbers in the order of {@linkcode STATISTICS}; texts where it has words. */
export interface Shown {
  readonly text: string;
  readonly to?: string;
  readonly values: readonly (string | number | null)[];
}

/** Where a cell is: its coordinates, the axes it averages over, the rows that the table takes. */
export interface Place {
  readonly table: string;
  readonly at: At;
  readonly over: Readonly<Record<string, readonly string[]>>;
  readonly where: Where;
  /** Axes of rows and columns, the first that has a baseline is that of changes. */
  readonly axes: readonly string[];
}

const TOO_FEW = `needs ${FEWEST_FOR_INTERVAL} seeds`;

const PLAIN: Metric = {
  title: "",
  table: "runs",
  unit: "",
  scale: 1,
  digits: 2,
  change: "difference",
  same: [],
};

/** The study with a measure's metric, which for a column that is none is made up; and its name. */
export function asMetric(
  study: Study,
  { metric, column, digits }: Pick<Measure, "metric" | "column" | "digits">,
  table: string,
): { readonly study: Study; readonly name: string } {
  const name = metric ?? column ?? "";
  if (study.metrics[name] !== undefined) return { study, name };
  const found = study.tidy[table]?.columns[name] ?? [];
  const whole = found.every((value) => typeof value !== "number" || Number.isInteger(value));
  const own = { ...PLAIN, title: name, table, column: name, digits: digits ?? (whole ? 0 : 2) };
  return { study: { ...study, metrics: { ...study.metrics, [name]: own } }, name };
}

/** What a measure shows at a place. */
export function shownOf(sheet: Sheet, measure: Measure, place: Place): Shown {
  const { show } = measure;
  const none: Shown = { text: NONE, values: STATISTICS[show].map(() => null) };
  const where = measure.where ?? {};
  const fits = Object.entries(where).every(([axis, allowed]) =>
    place.at[axis] === undefined || [allowed].flat().map(String).includes(place.at[axis])
  );
  if (!fits) return none;
  const pinned = Object.entries(where).flatMap(([axis, allowed]) => {
    const values = [allowed].flat();
    return values.length === 1 ? [[axis, String(values[0])]] : [];
  });
  const at: At = { ...place.at, ...Object.fromEntries(pinned) };
  const all = { ...place.where, ...where, ...at };
  if (show === "n" && measure.metric === undefined && measure.column === undefined) {
    const count = rowsAt(sheet.study.tidy[place.table], all).length;
    return { text: String(count), to: `#${everyId(place.table)}`, values: [count] };
  }
  const { study, name } = asMetric(sheet.study, measure, place.table);
  const cell: Cell = {
    ...{ sheet: { ...sheet, study }, measure, none, name, all },
    ...{ metric: metricOf(study, name), over: place.over, axes: place.axes },
    at: completed(study, study.tidy[metricOf(study, name).table], at),
  };
  switch (show) {
    case "min_max":
      return rangeCell(cell);
    case "published":
    case "published_change":
      return printedCell(cell);
    case "change":
    case "change_sd":
    case "change_interval":
    case "wins_losses":
      return changeCell(cell);
    default:
      return valueCell(cell);
  }
}

interface Cell extends Pick<Place, "at" | "over" | "axes"> {
  readonly sheet: Sheet;
  readonly measure: Measure;
  readonly name: string;
  readonly metric: Metric;
  readonly none: Shown;
  /** All that selects rows. */
  readonly all: Where;
}

/** The values of a metric's rows at a place, in the shown unit; texts as they are. */
function valuesIn({ sheet, metric, name, all }: Cell): (string | number)[] {
  const table = sheet.study.tidy[metric.table];
  const column = table?.columns[metric.column ?? name] ?? [];
  return rowsAt(table, all).map((row) => column[row]!)
    .filter((value) => value !== null && value !== undefined)
    .map((value) => typeof value === "number" ? value * metric.scale : value);
}

/** Words of a column that has no numbers, each once. */
function wordsCell(cell: Cell): Shown {
  const words = [...new Set(valuesIn(cell).filter((value) => typeof value === "string"))].sort();
  if (words.length === 0) return cell.none;
  const text = words.join(", ");
  return { text, values: cell.none.values.map((_, index) => index === 0 ? text : null) };
}

function rangeCell(cell: Cell): Shown {
  const numbers = valuesIn(cell).filter((value) => typeof value === "number");
  if (numbers.length === 0) return wordsCell(cell);
  const { value } = formatsOf(cell.metric, cell.measure.digits);
  const min = numbers.reduce((a, b) => Math.min(a, b));
  const max = numbers.reduce((a, b) => Math.max(a, b));
  return { text: rangeText(value(min), value(max)), values: [min, max] };
}

function valueCell(cell: Cell): Shown {
  const { sheet: { study }, measure, name, metric, at, over } = cell;
  const runs = changesOf(study, { metric: name, at, against: null, over })
    .map(({ value }) => value).filter(Number.isFinite);
  if (runs.length === 0) return wordsCell(cell);
  const { n, mean, sd, interval } = summaryOf(metric, runs, study.confidence);
  const to = Object.keys(over).length > 0
    ? `#${everyId(metric.table)}`
    : `#${runsAnchor(study, metric.table, at)}`;
  const { value } = formatsOf(metric, measure.digits);
  switch (measure.show) {
    case "n":
      return { text: String(n), to, values: [n] };
    case "mean":
      return { text: value(mean), to, values: [mean] };
    case "sd":
      return { text: sd === null ? NONE : value(sd), to, values: [sd] };
    case "interval": {
      if (interval === null || n < FEWEST_FOR_INTERVAL) return { ...cell.none, text: TOO_FEW };
      const cut = cutOff(metric, interval);
      return { text: intervalText(cut, value), to, values: cut };
    }
    default: {
      const spread = sd === null ? " (1 seed)" : ` ± ${value(sd)}`;
      return { text: value(mean) + spread, to, values: [mean, sd, n] };
    }
  }
}

function changeCell(cell: Cell): Shown {
  const { sheet, measure, name, metric, at, over, none } = cell;
  const against = againstOf(cell);
  if (against === null) return none;
  const contrast = { metric: name, at, against, over };
  const changes = changesOf(sheet.study, contrast).map(({ value }) => value)
    .filter(Number.isFinite);
  if (changes.length === 0) return none;
  const to = linkOfPairs(sheet, contrast);
  const { n, mean, sd, interval } = summarize(changes, sheet.study.confidence);
  const shown = (value: number) => shownChange(metric, value);
  const { value, change } = formatsOf(metric, measure.digits);
  switch (measure.show) {
    case "change_sd":
      if (sd === null) return none;
      return { text: value(shown(sd)), to, values: [shown(sd)] };
    case "change_interval": {
      if (interval === null || n < FEWEST_FOR_INTERVAL) return { ...none, text: TOO_FEW };
      const ends = [shown(interval[0]), shown(interval[1])] as const;
      return { text: intervalText(ends, change), to, values: ends };
    }
    case "wins_losses": {
      const up = changes.filter((each) => each > 0).length;
      const down = changes.filter((each) => each < 0).length;
      const values = metric.better === "less" ? [down, up] : [up, down];
      return { text: values.join("/"), to, values };
    }
    default: {
      const noise = noiseOf(cell, against);
      const text = change(shown(mean));
      const unresolved = noise !== null && Math.abs(mean) <= noise;
      return { text: unresolved ? `${text} (not resolved)` : text, to, values: [shown(mean)] };
    }
  }
}

/**
 * How far what does the same as the baseline differs from it, at most: the larger end of the interval
 * of its changes, of fewer than three seeds its largest change. Null if the metric names no such condition, it did not run, or the cell is of it.
 */
function noiseOf({ sheet: { study }, metric, name, at, over }: Cell, against: At): number | null {
  if (metric.floor === undefined) return null;
  const floor = { ...at, ...metric.floor };
  if (keyOf(floor) === keyOf(at)) return null;
  const changes = changesOf(study, { metric: name, at: floor, against, over })
    .map(({ value }) => value).filter(Number.isFinite);
  if (changes.length === 0) return null;
  const { n, interval } = summarize(changes, study.confidence);
  return Math.max(...(n < 3 || interval === null ? changes : interval).map(Math.abs));
}

/** What a cell's changes are from; null at the baseline itself. */
function againstOf({ sheet: { study }, measure, axes, at }: Cell): At | null {
  const against = measure.against ?? baselineOf(study, axes.filter((axis) => at[axis]));
  return against === null || keyOf({ ...at, ...against }) === keyOf(at) ? null : against;
}

function printedCell(cell: Cell): Shown {
  const { sheet: { study }, measure, name, at, over, none } = cell;
  const question = { metric: name, at, over, source: measure.source };
  if (measure.show === "published") {
    const found = printedBeside(study, question);
    return found === undefined
      ? none
      : { text: printedText(found), values: [found.value ?? found.words, found.spread] };
  }
  const against = againstOf(cell);
  const found = against === null ? undefined : printedChange(study, { ...question, against });
  if (found === undefined) return none;
  return { text: signed(found.value, found.digits), values: [found.value] };
}

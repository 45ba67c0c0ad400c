/**
 * What a cell of a summary shows: a statistic of the runs at its place.
 *
 * @module
 */
import { printedAt, printedChange } from "../printed.ts";
import type { Metric, Where } from "../spec/axes.ts";
import type { Measure } from "../spec/tables.ts";
import { countSigns, FEWEST_FOR_INTERVAL } from "../statistics/sample.ts";
import { provenanceOf } from "../provenance.ts";
import {
  axisOf,
  baselineOf,
  type Contrast,
  estimateOf,
  fits,
  isAt,
  metricOf,
  rowsAt,
  type Study,
  testedChange,
} from "../study.ts";
import type { At } from "../tidy/table.ts";
import { decimal, intervalText, NONE, printedText, rangeText, signed } from "./format.ts";
import { completed, everyId, linkOfPairs, runsAnchor, type Sheet } from "./places.ts";

/** How each kind of cell is called in a column's head, and its numbers in CSV. */
export const KINDS: Readonly<
  Record<Measure["show"], { readonly title: string; readonly numbers: readonly string[] }>
> = {
  mean_sd: { title: "", numbers: ["mean", "sd", "n"] },
  mean: { title: "mean", numbers: ["mean"] },
  sd: { title: "std. dev.", numbers: ["sd"] },
  interval: { title: "interval", numbers: ["low", "high"] },
  n: { title: "seeds", numbers: ["n"] },
  min_max: { title: "min/max", numbers: ["min", "max"] },
  change: { title: "change", numbers: ["change"] },
  change_sd: { title: "std. dev. of change", numbers: ["change_sd"] },
  change_interval: { title: "interval of change", numbers: ["change_low", "change_high"] },
  wins_losses: { title: "wins/losses", numbers: ["wins", "losses"] },
  published: { title: "paper", numbers: ["published", "published_spread"] },
  published_change: { title: "paper's change", numbers: ["published_change"] },
};

/** A cell, and its numbers in the order of {@linkcode KINDS}; texts where it has words. */
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
  const { show, where = {} } = measure;
  const none: Shown = { text: NONE, values: KINDS[show].numbers.map(() => null) };
  if (!fits(place.at, where)) return none;
  const pinned = Object.entries(where).filter(([, allowed]) => [allowed].flat().length === 1)
    .map(([axis, allowed]) => [axis, String([allowed].flat()[0])]);
  const at: At = { ...place.at, ...Object.fromEntries(pinned) };
  const all = { ...place.where, ...where, ...at };
  if (show === "n" && measure.metric === undefined) {
    const table = sheet.study.tidy[place.table];
    const column = measure.column === undefined ? undefined : table?.columns[measure.column];
    const count = rowsAt(table, all).filter((row) => column?.[row] !== null).length;
    return { text: String(count), to: `#${everyId(place.table)}`, values: [count] };
  }
  const { study, name } = asMetric(sheet.study, measure, place.table);
  const metric = metricOf(study, name);
  const cell: Cell = {
    ...{ sheet: { ...sheet, study }, measure, none, name, all, metric },
    ...{ over: place.over, axes: place.axes },
    at: completed(study, study.tidy[metric.table], at),
  };
  if (show === "min_max") return rangeCell(cell);
  if (show === "published" || show === "published_change") return printedCell(cell);
  return sampleCell(cell);
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
  const digits = cell.measure.digits ?? cell.metric.digits;
  const min = numbers.reduce((a, b) => Math.min(a, b));
  const max = numbers.reduce((a, b) => Math.max(a, b));
  return { text: rangeText(decimal(min, digits), decimal(max, digits)), values: [min, max] };
}

/** A statistic of the values at a place, or of their changes. */
function sampleCell(cell: Cell): Shown {
  const { sheet, measure: { show }, name, metric, at, over, none } = cell;
  const isChange = show.startsWith("change") || show === "wins_losses";
  const against = isChange ? againstOf(cell) : null;
  if (isChange && against === null) return none;
  const contrast = { metric: name, at, against, over };
  const estimate = estimateOf(sheet.study, contrast);
  if (estimate === null) return isChange ? none : wordsCell(cell);
  const { n, mean, sd, interval, values } = estimate;
  const digits = cell.measure.digits ?? metric.digits;
  const text = (value: number) => (isChange ? signed : decimal)(value, digits);
  const sdText = sd === null ? NONE : decimal(sd, digits);
  const to = isChange ? linkOfPairs(sheet, contrast) : linkOfRuns(cell);
  switch (show) {
    case "n":
      return { text: String(n), to, values: [n] };
    case "mean":
      return { text: text(mean), to, values: [mean] };
    case "change": {
      const unresolved = Math.abs(testedChange(metric, mean)) <= noiseOf(cell, contrast);
      return { text: text(mean) + (unresolved ? " (not resolved)" : ""), to, values: [mean] };
    }
    case "sd":
      return { text: sdText, to, values: [sd] };
    case "change_sd":
      return sd === null ? none : { text: sdText, to, values: [sd] };
    case "interval":
    case "change_interval":
      if (interval === null) return { ...none, text: `needs ${FEWEST_FOR_INTERVAL} seeds` };
      return { text: intervalText(interval, text), to, values: interval };
    case "wins_losses": {
      const { positive, negative } = countSigns(values);
      const wins = metric.better === "less" ? [negative, positive] : [positive, negative];
      return { text: wins.join("/"), to, values: wins };
    }
    default: {
      const spread = sd === null ? " (1 seed)" : ` ± ${sdText}`;
      return { text: text(mean) + spread, to, values: [mean, sd, n] };
    }
  }
}

function linkOfRuns({ sheet: { study }, metric: { table }, at, over }: Cell): string {
  return `#${Object.keys(over).length > 0 ? everyId(table) : runsAnchor(study, table, at)}`;
}

/**
 * How far what does the same as the baseline differs from it, at most: the larger end of the interval
 * of its changes, of fewer than three seeds its largest change. −1 if the metric names no such
 * condition, it did not run, or the cell is of it.
 */
function noiseOf({ sheet: { study }, metric }: Cell, contrast: Contrast): number {
  if (metric.floor === undefined || isAt(contrast.at, metric.floor)) return -1;
  const at = { ...contrast.at, ...metric.floor };
  const estimate = estimateOf(study, { ...contrast, at });
  if (estimate === null) return -1;
  const tested = (value: number) => Math.abs(testedChange(metric, value));
  return Math.max(...(estimate.interval ?? estimate.values).map(tested));
}

/**
 * What a cell's changes are from; null at the baseline itself. Where that was not run with the cell's
 * choice, since it knows none, it is taken as by default.
 */
function againstOf({ sheet, measure, metric, axes, at }: Cell): At | null {
  const { study, choice = "" } = sheet;
  const against = measure.against ?? baselineOf(study, axes.filter((axis) => at[axis]));
  if (against === null || isAt(at, against)) return null;
  const usual = choice in at && !(choice in against) ? defaultOf(sheet) : null;
  const ran = rowsAt(study.tidy[metric.table], { ...at, ...against }).length > 0;
  return ran || usual === null ? against : { ...against, [choice]: usual };
}

/** The value of the axis of choices that conditions have by default. */
function defaultOf({ study, choice = "" }: Sheet): string | null {
  return axisOf(study, choice)?.baseline ?? null;
}

/** What the paper prints; beside synthetic data and other choices than the default that is nothing. */
function printedCell(cell: Cell): Shown {
  const { sheet, measure, name, at, over, none } = cell;
  const { study, choice = "" } = sheet;
  const { kind } = provenanceOf(study, { ...at, ...over as Record<string, string[]> });
  if (kind === "synthetic" || (choice in at && at[choice] !== defaultOf(sheet))) return none;
  const lookup = { metric: name, at, over, source: measure.source };
  if (measure.show === "published") {
    const found = printedAt(study, lookup);
    if (found === undefined) return none;
    return { text: printedText(found), values: [found.value ?? found.words, found.spread] };
  }
  const against = againstOf(cell);
  const found = against === null ? undefined : printedChange(study, { ...lookup, against });
  if (found === undefined) return none;
  return { text: signed(found.value, found.digits), values: [found.value] };
}

/**
 * What one analysis knows: what the experiment says of its axes and metrics, and the tidy tables of
 * what was measured. Everything that compares, tabulates or draws asks it, in shown units.
 *
 * @module
 */
import { exp, expm1, ln, log1p } from "../models/portable_math.ts";
import type { Metric, Metrics, Where } from "./spec/axes.ts";
import type { Paper } from "./spec/published.ts";
import { median, type SampleSummary, sum, summarize } from "./statistics/sample.ts";
import { comparePlaces } from "./tidy/order.ts";
import type { At, TidyTable } from "./tidy/table.ts";

/** An axis with those of its values that occur, in display order. */
export interface Axis {
  readonly name: string;
  readonly title: string;
  /** The value that the others are compared with. */
  readonly baseline: string | null;
  readonly values: readonly AxisValue[];
  /** Described values that nothing measured has: the paper may print numbers of them. */
  readonly others?: readonly AxisValue[];
}

/** The first of some axes that has a baseline, as what to compare with. */
export function baselineOf(study: Study, axes: readonly string[]): At | null {
  const axis = axes.map((name) => axisOf(study, name)).find((each) => each?.baseline != null);
  return axis === undefined ? null : { [axis.name]: axis.baseline! };
}

/** A value of an axis as people read it. */
export interface AxisValue {
  readonly value: string;
  readonly title: string;
  readonly short: string;
  readonly note: string | null;
}

/** Data that runs were trained and tested on. */
export interface Corpus {
  readonly at: At;
  readonly kind: "official" | "sample" | "synthetic";
  readonly title: string;
  readonly note: string;
}

/** A value that the paper printed, in the metric's shown unit. */
export interface PublishedValue {
  readonly source: string;
  readonly page: string;
  readonly metric: string;
  readonly at: At;
  /** The condition it is a difference from, in what differs; `null` for a value itself. */
  readonly against: At | null;
  readonly value: number | null;
  /** Greatest error from rounding, half a unit of the last digit printed. */
  readonly rounding: number;
  readonly spread: number | null;
  readonly n: number | null;
  readonly words: string;
}

/** What one analysis knows. */
export interface Study {
  readonly title: string;
  /** Coverage of every interval. */
  readonly confidence: number;
  /** The axis of replicates, by whose values runs are paired. */
  readonly seeds: string;
  readonly axes: readonly Axis[];
  readonly metrics: Metrics;
  readonly tidy: Readonly<Record<string, TidyTable>>;
  readonly corpora: readonly Corpus[];
  readonly published: readonly PublishedValue[];
  readonly paper: Paper;
}

/** Runs that differ in the seed alone. */
export interface Condition {
  readonly at: At;
  readonly seeds: readonly string[];
}

/** Two conditions, or two differences, under one seed. */
export interface Change {
  readonly seed: string;
  /** On the scale that is averaged and tested: the shown unit, or for ratios a logarithm. */
  readonly value: number;
  /** Rows of the metric's table that it was taken from, those that count positive and negative. */
  readonly plus: readonly number[];
  readonly minus: readonly number[];
}

/** What is compared; the parts of a claim's comparison. */
export interface Contrast {
  readonly metric: string;
  readonly at: At;
  readonly against: At | null;
  readonly than?: At | null;
  readonly over?: Readonly<Record<string, readonly string[]>>;
}

/** The metric of a name. @throws {RangeError} If there is none: plans refuse such names. */
export function metricOf(study: Study, name: string): Metric {
  const metric = study.metrics[name];
  if (metric === undefined) throw new RangeError(`metricOf: no metric "${name}"`);
  return metric;
}

/** Whether coordinates are at a place: have its value of each axis that it names. */
export function isAt(at: At, place: At): boolean {
  return Object.entries(place).every(([axis, value]) => at[axis] === value);
}

/** Whether coordinates are among those selected; axes that one of both lacks do not select. */
export function fits(at: At, where: Where | At): boolean {
  return Object.entries(at).every(([axis, value]) =>
    where[axis] === undefined || [where[axis]].flat().map(String).includes(value)
  );
}

/** Indices of a table's rows at given coordinates; axes that the table lacks do not select. */
export function rowsAt(table: TidyTable | undefined, where: Where | At): number[] {
  if (table === undefined) return [];
  const filters = Object.entries(where).filter(([axis]) => table.columns[axis] !== undefined)
    .map(([axis, allowed]) =>
      [table.columns[axis]!, new Set([allowed].flat().map(String))] as const
    );
  return Array.from({ length: table.length }, (_, row) => row)
    .filter((row) => filters.every(([column, allowed]) => allowed.has(String(column[row]))));
}

/** A row's coordinates on some axes, by default on all of its table's. */
export function atOf(table: TidyTable, row: number, axes = table.axes): At {
  return Object.fromEntries(axes.map((axis) => [axis, String(table.columns[axis]![row])]));
}

/** A metric's table and what it says of each row. */
interface Column {
  readonly metric: Metric;
  readonly table: TidyTable;
  /** In the shown unit; `undefined` where there is no value that can be averaged. */
  valueOf(row: number): number | undefined;
}

function columnOf(study: Study, name: string): Column | undefined {
  const metric = metricOf(study, name);
  const table = study.tidy[metric.table];
  const values = table?.columns[metric.column ?? name];
  if (table === undefined || values === undefined) return undefined;
  const valueOf = (row: number) => {
    const value = values[row];
    const usable = typeof value === "number" && Number.isFinite(value) &&
      (metric.change === "difference" || value > 0);
    return usable ? value * metric.scale : undefined;
  };
  return { metric, table, valueOf };
}

/** The rows at some coordinates that have a value, by seed. */
function bySeed(
  { table, valueOf }: Column,
  { seeds, where }: { seeds: string; where: Where | At },
): Map<string, number[]> {
  const rows = rowsAt(table, where).filter((row) => valueOf(row) !== undefined);
  return Map.groupBy(rows, (row) => String(table.columns[seeds]?.[row] ?? ""));
}

/** The conditions of a metric in display order: groups by every axis but the seeds. */
export function conditionsOf(study: Study, name: string, where: Where = {}): Condition[] {
  const column = columnOf(study, name);
  if (column === undefined) return [];
  const { table, metric, valueOf } = column;
  const axes = table.axes.filter((axis) => axis !== study.seeds && axis !== metric.within);
  const rows = rowsAt(table, where).filter((row) => valueOf(row) !== undefined);
  const groups = Map.groupBy(rows, (row) => keyOf(atOf(table, row, axes)));
  return [...groups.values()].map((own) => ({
    at: atOf(table, own[0]!, axes),
    seeds: [...new Set(own.map((row) => String(table.columns[study.seeds]?.[row] ?? "")))],
  }));
}

/** A sample of a metric's values; of one compared by ratios, mean and interval are geometric. */
function summaryOf(
  { change }: Pick<Metric, "change">,
  values: readonly number[],
  confidence: number,
): SampleSummary {
  const own = summarize(values, confidence);
  // Of a single value the mean is that value, whatever a logarithm rounds.
  if (change === "difference" || own.n === 1) return own;
  const { mean, interval } = summarize(values.map(ln), confidence);
  return { ...own, mean: exp(mean), interval: interval && [exp(interval[0]), exp(interval[1])] };
}

/**
 * A contrast's values, one for each seed that all of its conditions have: paired changes, or without
 * `against` the values themselves.
 *
 * Means over `over` are taken within a seed; a seed that lacks one of the values is left out, and so is
 * a pair whose `same` columns differ.
 */
export function changesOf(study: Study, contrast: Contrast): Change[] {
  const column = columnOf(study, contrast.metric);
  if (column === undefined) return [];
  const found = partsOf(contrast).map(({ place, minus, weight }) => ({
    weight,
    bySeed: minus === null
      ? valuesAt(column, { seeds: study.seeds, place })
      : pairsAt(column, { seeds: study.seeds, place, minus }),
  }));
  return [...found[0]?.bySeed.keys() ?? []].flatMap((seed) => {
    const own = found.map(({ weight, bySeed }) => ({ weight, taken: bySeed.get(seed) }));
    if (own.some(({ taken }) => taken === undefined)) return [];
    const rows = (positive: boolean) =>
      own.flatMap(({ weight, taken }) => weight > 0 === positive ? taken!.plus : taken!.minus);
    return [{
      seed,
      value: sum(own.map(({ weight, taken }) => weight * taken!.value)),
      plus: rows(true),
      minus: rows(false),
    }];
  });
}

/** A condition of a contrast, or two that are compared, and its weight in the whole. */
export interface Part {
  readonly place: At;
  readonly minus: At | null;
  readonly weight: number;
}

/** What a contrast is the weighted sum of: one part for each place of `over`, twice with `than`. */
export function partsOf({ at, against, than = null, over = {} }: Contrast): Part[] {
  const places = spread(over);
  return places.flatMap((over) => {
    const base = { ...at, ...over };
    const bases = than === null ? [base] : [base, { ...base, ...than }];
    return bases.map((place, index) => ({
      place,
      minus: against && { ...place, ...against },
      weight: (index === 0 ? 1 : -1) / places.length,
    }));
  });
}

/** A value or a paired change under one seed. */
type Taken = Omit<Change, "seed">;

/** By seed: a condition's values. */
function valuesAt(
  column: Column,
  { seeds, place }: { seeds: string; place: At },
): Map<string, Taken> {
  const found = bySeed(column, { seeds, where: place });
  return new Map([...found].map(([seed, rows]) => [seed, {
    value: median(rows.map((row) => column.valueOf(row)!)),
    plus: rows,
    minus: [],
  }]));
}

/** By seed: a condition's paired changes from another, each a median over what they are within. */
function pairsAt(
  column: Column,
  { seeds, place, minus }: { seeds: string; place: At; minus: At },
): Map<string, Taken> {
  const { table, metric, valueOf } = column;
  const seconds = bySeed(column, { seeds, where: minus });
  const scaled = (rows: readonly number[]) => {
    const value = median(rows.map((row) => valueOf(row)!));
    return metric.change === "ratio" ? ln(value) : value;
  };
  // Rows that may be compared: without `within` all of a seed, unless they were measured on others.
  const names = [...metric.same, ...metric.within === undefined ? [] : [metric.within]];
  const likeOf = (row: number) =>
    JSON.stringify(names.map((name) => table.columns[name]?.[row] ?? null));
  const found = new Map<string, Taken>();
  for (const [seed, rows] of bySeed(column, { seeds, where: place })) {
    const partners = Map.groupBy(seconds.get(seed) ?? [], likeOf);
    const pairs = [...Map.groupBy(rows, likeOf)].flatMap(([like, own]) => {
      const others = partners.get(like);
      return others === undefined ? [] : [{ own, others }];
    });
    if (pairs.length === 0) continue;
    found.set(seed, {
      value: median(pairs.map(({ own, others }) => scaled(own) - scaled(others))),
      plus: pairs.flatMap(({ own }) => own),
      minus: pairs.flatMap(({ others }) => others),
    });
  }
  return found;
}

/** What runs say of a contrast, as shown. */
export interface Estimate extends SampleSummary {
  /** One for each seed. */
  readonly values: readonly number[];
}

/** The estimate of a contrast; `null` if no run says anything of it. */
export function estimateOf(study: Study, contrast: Contrast): Estimate | null {
  const metric = metricOf(study, contrast.metric);
  const values = changesOf(study, contrast).map(({ value }) => value).filter(Number.isFinite);
  if (values.length === 0) return null;
  if (contrast.against !== null) return changeEstimate(metric, values, study.confidence);
  const summary = summaryOf(metric, values, study.confidence);
  return { ...summary, interval: summary.interval && cutOff(metric, summary.interval), values };
}

/** The estimate of a change, given its values on the scale that changes are averaged on. */
export function changeEstimate(
  metric: Metric,
  values: readonly number[],
  confidence: number,
): Estimate {
  const { n, mean, sd, interval } = summarize(values, confidence);
  const shown = (value: number) => shownChange(metric, value);
  return {
    n,
    mean: shown(mean),
    sd: sd === null ? null : shown(sd),
    interval: interval && [shown(interval[0]), shown(interval[1])],
    values: values.map(shown),
  };
}

/** An interval of values cut off where the metric ends: no accuracy is greater than 100 %. */
export function cutOff(
  { max = Infinity }: Metric,
  [low, high]: readonly [number, number],
): readonly [number, number] {
  return [Math.min(low, max), Math.min(high, max)];
}

/** All combinations of some axes' values; one empty one of none. */
function spread(over: Readonly<Record<string, readonly string[]>>): At[] {
  return Object.entries(over).reduce<At[]>(
    (places, [axis, values]) =>
      places.flatMap((place) => values.map((value) => ({ ...place, [axis]: value }))),
    [{}],
  );
}

/** From the scale that changes are averaged on to what is shown: a ratio's logarithm to percent. */
export function shownChange(metric: Metric, value: number): number {
  return metric.change === "ratio" ? 100 * expm1(value) : value;
}

/** From a shown change to the scale that changes are averaged on. */
export function testedChange(metric: Metric, shown: number): number {
  return metric.change === "ratio" ? log1p(shown / 100) : shown;
}

/** An axis by its name; `undefined` if nothing measured has it. */
export function axisOf(study: Study, name: string): Axis | undefined {
  return study.axes.find((axis) => axis.name === name);
}

/** A value of an axis as people read it. */
export function titleOf(study: Study, axis: string, value: string): string {
  return valueOf(study, axis, value)?.title ?? value;
}

/** A value of an axis for column heads and legends. */
export function shortOf(study: Study, axis: string, value: string): string {
  return valueOf(study, axis, value)?.short ?? value;
}

function valueOf(study: Study, axis: string, value: string): AxisValue | undefined {
  const found = axisOf(study, axis);
  return [...found?.values ?? [], ...found?.others ?? []].find((each) => each.value === value);
}

/** Compares coordinates by some axes, the first first, as they are displayed. */
export function byAxes(study: Study, axes: readonly string[]): (a: At, b: At) => number {
  return comparePlaces(
    axes,
    (name) => axisOf(study, name)?.values.map(({ value }) => value) ?? [],
  );
}

/**
 * Coordinates as people read them, axes in display order: `Rye, oven two`.
 *
 * @param options.all Whether axes with a single value are named too, and axes that nothing measured has.
 */
export function placeText(study: Study, at: At, { all = false } = {}): string {
  const known = study.axes.filter(({ values }) => all || values.length > 1).map(({ name }) => name);
  const unknown = Object.keys(at).filter((name) => axisOf(study, name) === undefined);
  return [...known, ...all ? unknown : []].filter((name) => at[name] !== undefined)
    .map((name) => titleOf(study, name, at[name]!)).join(", ");
}

/** A key that is equal for equal coordinates alone. */
export function keyOf(at: At): string {
  return JSON.stringify(Object.entries(at).sort(([a], [b]) => a < b ? -1 : 1));
}

/**
 * What one analysis knows: what the experiment says of its axes and metrics, and the tidy tables of
 * what was measured. Everything that compares, tabulates or draws asks it, in shown units.
 *
 * @module
 */
import type { Metric, Metrics, Where } from "./spec/axes.ts";
import type { Paper } from "./spec/published.ts";
import { median, sum, summarize } from "./statistics/sample.ts";
import type { At, TidyTable, Value } from "./tidy/table.ts";

/** An axis with those of its values that occur, in display order. */
export interface Axis {
  readonly name: string;
  readonly title: string;
  /** The value that the others are compared with. */
  readonly baseline: string | null;
  readonly values: readonly {
    readonly value: string;
    readonly title: string;
    readonly short: string;
    readonly note: string | null;
  }[];
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

/** One replicate of a condition. */
export interface Run {
  readonly seed: string;
  /** In the shown unit; a median if the table has several rows of it. */
  readonly value: number;
  /** Its rows in the metric's table. */
  readonly rows: readonly number[];
}

/** Runs that differ in the seed alone. */
export interface Condition {
  readonly at: At;
  readonly runs: readonly Run[];
  readonly n: number;
  readonly mean: number;
  readonly sd: number | null;
  readonly interval: readonly [number, number] | null;
}

/** Two conditions, or two differences, under one seed. */
export interface Change {
  readonly seed: string;
  /** On the scale that is averaged and tested: the shown unit, or for ratios a logarithm. */
  readonly value: number;
  /** Rows of the metric's table that it was taken from, first those that count positive. */
  readonly rows: readonly number[];
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

/** The conditions of a metric in display order: groups by every axis but the seeds. */
export function conditionsOf(study: Study, name: string, where: Where = {}): Condition[] {
  const metric = metricOf(study, name);
  const table = study.tidy[metric.table];
  const values = table?.columns[metric.column ?? name];
  if (table === undefined || values === undefined) return [];
  const axes = table.axes.filter((axis) => axis !== study.seeds && axis !== metric.within);
  const rows = rowsAt(table, where).filter((row) => typeof values[row] === "number");
  const groups = Map.groupBy(rows, (row) => keyOf(atOf(table, row, axes)));
  return [...groups.values()].map((group) => {
    const runs = runsOf(group, { study, table, metric, values });
    return {
      at: atOf(table, group[0]!, axes),
      runs,
      ...summarize(runs.map((run) => run.value), study.confidence),
    };
  });
}

function runsOf(rows: readonly number[], { study, table, metric, values }: {
  study: Study;
  table: TidyTable;
  metric: Metric;
  values: readonly Value[];
}): Run[] {
  const seeds = table.columns[study.seeds];
  const groups = Map.groupBy(rows, (row) => seeds === undefined ? "" : String(seeds[row]));
  return [...groups].map(([seed, own]) => ({
    seed,
    value: median(own.map((row) => values[row] as number)) * metric.scale,
    rows: own,
  }));
}

/**
 * A contrast's values, one for each seed that all of its conditions have: paired changes, or without
 * `against` the values themselves.
 *
 * Means over `over` are taken within a seed; a seed that lacks one of the values is left out, and so is
 * a pair whose `same` columns differ.
 */
export function changesOf(study: Study, contrast: Contrast): Change[] {
  const { at, against, than = null, over = {} } = contrast;
  const places = spread(over);
  const parts: { readonly place: At; readonly minus: At | null; readonly sign: 1 | -1 }[] = [];
  for (const place of places) {
    const base = { ...at, ...place };
    parts.push({ place: base, minus: against && { ...base, ...against, ...place }, sign: 1 });
    if (than !== null) {
      const other = { ...base, ...than };
      parts.push({ place: other, minus: against && { ...other, ...against }, sign: -1 });
    }
  }
  const found = parts.map(({ place, minus, sign }) => ({
    sign,
    bySeed: pairs(study, contrast.metric, { place, minus }),
  }));
  const [first] = found;
  if (first === undefined) return [];
  return [...first.bySeed.keys()].flatMap((seed) => {
    const own = found.map(({ sign, bySeed }) => ({ sign, pair: bySeed.get(seed) }));
    if (own.some(({ pair }) => pair === undefined)) return [];
    return [{
      seed,
      value: sum(own.map(({ sign, pair }) => sign * pair!.value)) / places.length,
      rows: own.flatMap(({ pair }) => pair!.rows),
    }];
  });
}

/** By seed: a condition's values, or its paired changes from another. */
function pairs(
  study: Study,
  name: string,
  { place, minus }: { place: At; minus: At | null },
): Map<string, Omit<Change, "seed">> {
  const metric = metricOf(study, name);
  const table = study.tidy[metric.table];
  const values = table?.columns[metric.column ?? name];
  if (table === undefined || values === undefined) return new Map();
  const scaled = (row: number) => {
    const value = (values[row] as number) * metric.scale;
    return metric.change === "ratio" ? Math.log(value) : value;
  };
  const select = (at: At) =>
    Map.groupBy(
      rowsAt(table, at).filter((row) => typeof values[row] === "number"),
      (row) => String(table.columns[study.seeds]?.[row] ?? ""),
    );
  const firsts = select(place);
  const seconds = minus === null ? null : select(minus);
  const found = new Map<string, Omit<Change, "seed">>();
  for (const [seed, rows] of firsts) {
    if (seconds === null) {
      const value = median(rows.map((row) => values[row] as number)) * metric.scale;
      found.set(seed, { value, rows });
      continue;
    }
    const matched = rows.flatMap((row) => {
      const partner = seconds.get(seed)?.find((other) => agree(table, [row, other], metric));
      return partner === undefined ? [] : [[row, partner] as const];
    });
    if (matched.length === 0) continue;
    const changes = matched.map(([row, partner]) => scaled(row) - scaled(partner));
    found.set(seed, { value: median(changes), rows: matched.flat() });
  }
  return found;
}

/** Whether two rows may be compared. */
function agree(table: TidyTable, [a, b]: readonly [number, number], metric: Metric): boolean {
  const columns = [...metric.same, ...metric.within === undefined ? [] : [metric.within]];
  return columns.every((name) => table.columns[name]?.[a] === table.columns[name]?.[b]);
}

/** All combinations of some axes' values; one empty one of none. */
export function spread(over: Readonly<Record<string, readonly string[]>>): At[] {
  return Object.entries(over).reduce<At[]>(
    (places, [axis, values]) =>
      places.flatMap((place) => values.map((value) => ({ ...place, [axis]: value }))),
    [{}],
  );
}

/** From the scale that changes are averaged on to what is shown: a ratio's logarithm to percent. */
export function shownChange(metric: Metric, value: number): number {
  return metric.change === "ratio" ? 100 * Math.expm1(value) : value;
}

/** From a shown change to the scale that changes are averaged on. */
export function testedChange(metric: Metric, shown: number): number {
  return metric.change === "ratio" ? Math.log1p(shown / 100) : shown;
}

/** An axis by its name; `undefined` if nothing measured has it. */
export function axisOf(study: Study, name: string): Axis | undefined {
  return study.axes.find((axis) => axis.name === name);
}

/** A value of an axis as people read it. */
export function titleOf(study: Study, axis: string, value: string): string {
  return axisOf(study, axis)?.values.find((each) => each.value === value)?.title ?? value;
}

/** A value of an axis for column heads and legends. */
export function shortOf(study: Study, axis: string, value: string): string {
  return axisOf(study, axis)?.values.find((each) => each.value === value)?.short ?? value;
}

/** Coordinates as people read them, axes with a single value left out: `ArXiv, sinusoidal`. */
export function placeText(study: Study, at: At, { all = false } = {}): string {
  const shown = study.axes.filter(({ name, values }) =>
    at[name] !== undefined && (all || values.length > 1)
  );
  return shown.map(({ name }) => titleOf(study, name, at[name]!)).join(", ");
}

/** A key that is equal for equal coordinates alone. */
export function keyOf(at: At): string {
  return JSON.stringify(Object.entries(at).sort(([a], [b]) => a < b ? -1 : 1));
}

/** How a condition's data and models relate to the paper's. */
export interface Provenance {
  readonly kind: Corpus["kind"] | "undescribed";
  /** What falls short of the paper: `smaller model`. */
  readonly short: readonly string[];
  /** Whether it is all as in the paper. */
  readonly asPaper: boolean;
  /** `sample of the data, smaller model`. */
  readonly text: string;
}

const KINDS = {
  official: "full data",
  sample: "sample of the data",
  synthetic: "synthetic data",
  undescribed: "data not described",
} as const;

/** The provenance of what ran at some coordinates; of several data sets, the least of theirs. */
export function provenanceOf(study: Study, where: Where | At): Provenance {
  const own = study.corpora.filter(({ at }) =>
    Object.entries(at).every(([axis, value]) =>
      where[axis] === undefined || [where[axis]].flat().map(String).includes(value)
    )
  );
  const kinds = ["synthetic", "sample", "official"] as const;
  const kind = kinds.find((each) => own.some((corpus) => corpus.kind === each)) ?? "undescribed";
  const short = kind === "synthetic" ? [] : study.paper.size.filter((size) => {
    const table = study.tidy[size.table];
    const agrees = Object.entries(size.at).every(([axis, value]) =>
      where[axis] === undefined || [where[axis]].flat().map(String).includes(value)
    );
    if (table === undefined || !agrees) return false;
    const of = (name: string, row: number) => Number(table.columns[name]?.[row] ?? NaN);
    return rowsAt(table, { ...where, ...size.at }).some((row) =>
      Object.entries(size.equals).some(([name, value]) => of(name, row) !== value) ||
      Object.entries(size.at_least).some(([name, value]) => !(of(name, row) >= value))
    );
  }).map(({ says }) => says);
  const labels = [...new Set(short)];
  return {
    kind,
    short: labels,
    asPaper: kind === "official" && labels.length === 0,
    text: [KINDS[kind], ...labels].join(", "),
  };
}

/** What a source of the paper prints for a condition: the row that names no other coordinates. */
export function publishedOf(
  study: Study,
  { metric, at, source }: { metric: string; at: At; source?: string | undefined },
): PublishedValue | undefined {
  return study.published.find((each) =>
    each.metric === metric && each.against === null &&
    (source === undefined || each.source === source) &&
    Object.entries(each.at).every(([axis, value]) => at[axis] === value)
  );
}

/**
 * Conditions and contrasts as tables name them, and where cells lead.
 *
 * @module
 */
import { provenanceOf } from "../provenance.ts";
import {
  atOf,
  byAxes,
  type Contrast,
  keyOf,
  metricOf,
  partsOf,
  rowsAt,
  type Study,
  titleOf,
} from "../study.ts";
import type { At, TidyTable } from "../tidy/table.ts";
import { rowsAnchor } from "./table.ts";

/** What tables of one analysis share. */
export interface Sheet {
  readonly study: Study;
  /** The axis whose values are ways to read the paper: not every condition knows all of them. */
  readonly choice?: string | undefined;
  /** By anchor: pairs of conditions behind a change that some table shows. */
  readonly pairs: Map<string, Contrast>;
}

/** Axes of a table by which its conditions differ: not the seeds', not what rounds are counted by. */
export function conditionAxes(study: Study, table: TidyTable): string[] {
  const within = Object.values(study.metrics).filter((metric) => metric.table === table.name)
    .map((metric) => metric.within);
  return table.axes.filter((axis) => axis !== study.seeds && !within.includes(axis));
}

/** Coordinates on a table's axes, with those added that nothing else is possible for. */
export function completed(study: Study, table: TidyTable | undefined, at: At): At {
  if (table === undefined) return at;
  const missing = conditionAxes(study, table).filter((axis) => at[axis] === undefined);
  const rows = missing.length === 0 ? [] : rowsAt(table, at);
  const only = (axis: string) => {
    const values = new Set(rows.map((row) => String(table.columns[axis]![row])));
    return missing.includes(axis) && values.size === 1 ? [...values][0] : undefined;
  };
  return Object.fromEntries(
    table.axes.flatMap((axis) => {
      const value = at[axis] ?? only(axis);
      return value === undefined ? [] : [[axis, value]];
    }),
  );
}

/** The table that has every run of a tidy table. */
export function everyId(table: string): string {
  return table === "runs" ? "every_run" : `every_${table}`;
}

/** The anchor of a condition's runs, one by one. */
export function runsAnchor(study: Study, table: string, at: At): string {
  const place = completed(study, study.tidy[table], at);
  return rowsAnchor("runs", table, ...Object.entries(place).flat());
}

/** Notes the pairs that a contrast is taken from; returns where its cell leads. */
export function linkOfPairs({ study, pairs }: Sheet, contrast: Contrast): string {
  const table = study.tidy[metricOf(study, contrast.metric).table];
  const anchors = partsOf(contrast).flatMap(({ place, minus }) => {
    if (minus === null) return [];
    const at = completed(study, table, place);
    const other = completed(study, table, minus);
    const differing = Object.entries(other).filter(([axis, value]) => at[axis] !== value);
    const anchor = rowsAnchor(
      ...["pairs", contrast.metric, ...Object.entries(at).flat()],
      ...["from", ...differing.flat()],
    );
    pairs.set(anchor, {
      metric: contrast.metric,
      at,
      against: Object.fromEntries(differing),
    });
    return [anchor];
  });
  return `#${anchors.length === 1 ? anchors[0]! : "every_pair"}`;
}

/** The runs or pairs that a contrast's mean is of. */
export function linkOf(sheet: Sheet, contrast: Contrast): string {
  const { metric: name, at, against, over = {}, than = null } = contrast;
  if (against !== null) return linkOfPairs(sheet, contrast);
  const { table } = metricOf(sheet.study, name);
  const several = Object.keys(over).length > 0 || than !== null;
  return `#${several ? everyId(table) : runsAnchor(sheet.study, table, at)}`;
}

/** `Vanilla − Plain`. */
export function differenceText(study: Study, at: At, against: At): string {
  const text = (place: At) =>
    Object.keys(against).map((axis) => titleOf(study, axis, place[axis] ?? "?")).join(", ");
  return `${text(at)} − ${text(against)}`;
}

/** Coordinates on the axes that others are not on. */
export function without(at: At, others: At): At {
  return Object.fromEntries(Object.entries(at).filter(([axis]) => others[axis] === undefined));
}

/** Different coordinates of rows on some axes, in the axes' display order. */
export function placesIn(
  study: Study,
  { table, rows, axes }: {
    table: TidyTable;
    rows: readonly number[];
    axes: readonly string[];
  },
): At[] {
  const places = new Map(rows.map((row) => {
    const at = atOf(table, row, axes);
    return [keyOf(at), at] as const;
  }));
  return [...places.values()].sort(byAxes(study, axes));
}

/** What a reader must know of what a table shows: its data, its axes' values, its clock. */
export function notesOn(
  study: Study,
  { places, timed }: { places: readonly At[]; timed: boolean },
): string[] {
  const kinds = new Set(places.map((at) => provenanceOf(study, at).kind));
  const shown = study.axes.flatMap(({ name, values }) =>
    values.filter(({ value }) => places.some((at) => at[name] === value)).map(({ note }) => note)
  );
  return [
    ...shown.filter((note) => note !== null),
    ...(kinds.has("sample")
      ? [
        `A row of sampled data is not a measurement on the ${
          study.published.length > 0 ? "paper's" : "whole"
        } data set: less was trained and tested on.`,
      ]
      : []),
    ...(kinds.has("synthetic") && study.published.length > 0
      ? ["Synthetic data has no counterpart in the paper; its rows check the pipeline only."]
      : []),
    ...(timed ? ["Timings are of the machine that these runs were on, and differ each time."] : []),
  ];
}

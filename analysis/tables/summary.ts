/**
 * Declared tables of conditions: a row for each, or a column for each value of an axis.
 *
 * @module
 */
import type { Measure, SummaryTable } from "../spec/tables.ts";
import {
  atOf,
  axisOf,
  metricOf,
  provenanceOf,
  rowsAt,
  shortOf,
  type Study,
  titleOf,
} from "../study.ts";
import type { At, TidyTable } from "../tidy/table.ts";
import { NONE, percent, rangeText, withUnit } from "./format.ts";
import { asMetric, type Place, type Shown, shownOf, STATISTICS } from "./measures.ts";
import { conditionAxes, notesOn, placesIn, type Sheet } from "./places.ts";
import { type Cell, linked, numbers, type Table } from "./table.ts";

type Data = (string | number | null)[];

/** A declared summary; null if nothing of it was run. */
export function summaryTable(sheet: Sheet, id: string, spec: SummaryTable): Table | null {
  const { study } = sheet;
  const table = study.tidy[spec.table];
  if (table === undefined) return null;
  const rows = rowsAt(table, spec.where);
  const axes = rowAxes(study, { table, rows, spec });
  const parts: Parts = {
    ...{ sheet, spec, table, axes, cells: [], data: [], names: [], breaks: [], shown: [] },
    places: placesIn(study, { table, rows, axes }),
  };
  const head = spec.across === undefined ? rowsOf(parts) : acrossOf(parts, spec.across);
  if (parts.cells.length === 0) return null;
  const metrics = spec.columns.map((each) => metricFor(study, each, spec.table));
  return {
    id,
    caption: spec.caption,
    columns: [
      ...axes.map((axis) => ({ title: axisOf(study, axis)?.title ?? axis })),
      { title: "Source" },
      ...head.columns,
    ],
    rows: parts.cells,
    names: parts.names,
    breaks: parts.breaks,
    notes: [
      ...spec.notes,
      ...intervalNote(spec, study),
      ...notesOn(study, {
        places: parts.shown,
        timed: metrics.some(({ timed }) => timed === true),
      }),
    ],
    data: { columns: unique([...axes, ...head.data]), rows: parts.data },
  };
}

/** A table in the making. */
interface Parts {
  readonly sheet: Sheet;
  readonly spec: SummaryTable;
  readonly table: TidyTable;
  readonly axes: readonly string[];
  readonly places: readonly At[];
  readonly cells: Cell[][];
  readonly data: Data[];
  readonly names: string[][];
  readonly breaks: number[];
  /** Conditions that are shown. */
  readonly shown: At[];
}

/**
 * Axes that tell rows apart: those declared, and any other by which conditions differ, so that no cell
 * mixes conditions. Ranges, counts and words may.
 */
function rowAxes(study: Study, { table, rows, spec }: {
  table: TidyTable;
  rows: readonly number[];
  spec: SummaryTable;
}): string[] {
  const declared = spec.rows.filter((axis) => table.axes.includes(axis));
  const isWords = ({ metric, column }: Measure) =>
    metric === undefined && column !== undefined &&
    rows.every((row) => typeof table.columns[column]?.[row] !== "number");
  const pooled = spec.columns.every((each) =>
    each.show === "min_max" || (each.show === "n" && each.metric === undefined) || isWords(each)
  );
  if (pooled) return declared;
  const taken = [...declared, spec.across, ...spec.columns.flatMap(({ over }) => over)];
  const further = conditionAxes(study, table).filter((axis) =>
    !taken.includes(axis) && new Set(rows.map((row) => table.columns[axis]![row])).size > 1
  );
  return [...declared, ...further];
}

/** A row for each place, a column for each measure. */
function rowsOf(parts: Parts): { columns: Table["columns"]; data: string[] } {
  const { sheet: { study }, spec, axes, places } = parts;
  let last: At = {};
  for (const place of places) {
    const at = conditionAt(parts, place);
    const shown = spec.columns.map((each) => shownOf(parts.sheet, each, placeOf(parts, at, each)));
    if (shown.every(({ values }) => values.every((value) => value === null))) continue;
    const { kind, text } = provenanceOf(study, at);
    begin(parts, place, last);
    const again = last[axes[0]!] === place[axes[0]!] && axes.length > 1 &&
      provenanceOf(study, conditionAt(parts, last)).text === text;
    parts.cells.push([
      ...titles(parts, place, last),
      again ? "" : text,
      ...shown.map((each) => linked(each.text, each.to)),
    ]);
    parts.names.push(axes.map((axis) => place[axis]!));
    parts.data.push([
      ...axes.map((axis) => place[axis]!),
      ...[kind, ...shown.flatMap(({ values }) => values)],
    ]);
    parts.shown.push(at);
    last = place;
  }
  return {
    columns: spec.columns.map((each) => numbers(titleFor(study, each, spec), nameFor(each))),
    data: ["data_kind", ...spec.columns.flatMap(dataNames)],
  };
}

/** A row of ours for each place and one of the paper's, a column for each value of an axis. */
function acrossOf(parts: Parts, across: string): { columns: Table["columns"]; data: string[] } {
  const { sheet, sheet: { study }, spec, table, axes, places } = parts;
  const measure = spec.columns[0]!;
  const rows = rowsAt(table, spec.where);
  const values = table.axes.includes(across)
    ? placesIn(study, { table, rows, axes: [across] }).map((at) => at[across]!)
    : [];
  let last: At = {};
  for (const place of places) {
    const show = (value: string, own: Measure) => {
      const at = conditionAt(parts, { ...place, [across]: value });
      return shownOf(sheet, own, placeOf(parts, at, own));
    };
    const ours = values.map((value) => show(value, measure));
    if (ours.every((each) => each.values.every((value) => value === null))) continue;
    begin(parts, place, last);
    const { kind, text } = provenanceOf(study, conditionAt(parts, place));
    const seeds = values.map((value) => show(value, { ...measure, show: "n" }).values[0]);
    parts.cells.push([
      ...titles(parts, place, last),
      `This run: ${text}${seedsText(seeds)}`,
      ...ours.map((each) =>
        linked(each.values[0] === null && each.text === NONE ? "not run" : each.text, each.to)
      ),
    ]);
    parts.names.push(axes.map((axis) => place[axis]!));
    const theirs: readonly Shown[] = spec.published === undefined
      ? []
      : values.map((value) =>
        show(value, {
          ...{ ...measure, source: spec.published },
          show: measure.show.startsWith("change") ? "published_change" : "published",
        })
      );
    if (theirs.some(({ text }) => text !== NONE)) {
      parts.cells.push([
        ...axes.map(() => ""),
        "Paper, as printed",
        ...theirs.map((each) => each.text),
      ]);
      parts.names.push([...axes.map((axis) => place[axis]!), "paper"]);
    }
    values.forEach((value, index) => {
      const own = [...ours[index]!.values, ...(theirs[index]?.values ?? [])];
      if (own.every((each) => each === null)) return;
      parts.data.push([...axes.map((axis) => place[axis]!), value, kind, ...own]);
      parts.shown.push(conditionAt(parts, { ...place, [across]: value }));
    });
    last = place;
  }
  const printed: Measure["show"] = measure.show.startsWith("change")
    ? "published_change"
    : "published";
  return {
    columns: values.map((value) => numbers(shortOf(study, across, value), value)),
    data: [
      ...[across, "data_kind", ...dataNames(measure)],
      ...(spec.published === undefined ? [] : STATISTICS[printed]),
    ],
  };
}

/** All coordinates of a place that its rows agree on. */
function conditionAt({ sheet: { study }, spec, table }: Parts, place: At): At {
  const rows = rowsAt(table, { ...spec.where, ...place });
  const over = spec.columns.flatMap((each) => each.over);
  const axes = conditionAxes(study, table).filter((axis) =>
    !over.includes(axis) && new Set(rows.map((row) => table.columns[axis]![row])).size === 1
  );
  return rows.length === 0 ? place : { ...atOf(table, rows[0]!, axes), ...place };
}

/** Where a measure is taken at some coordinates. */
function placeOf({ sheet: { study }, spec, axes }: Parts, at: At, measure: Measure): Place {
  const table = study.tidy[metricFor(study, measure, spec.table).table];
  const values = (axis: string) => {
    const rows = rowsAt(table, { ...spec.where, ...measure.where });
    return [...new Set(rows.map((row) => String(table!.columns[axis]![row])))];
  };
  const over = [...new Set(spec.columns.flatMap((each) => each.over))]
    .filter((axis) => table?.axes.includes(axis)).map((axis) => [axis, values(axis)]);
  return {
    ...{ table: spec.table, at, where: spec.where, over: Object.fromEntries(over) },
    axes: [...axes, ...(spec.across === undefined ? [] : [spec.across])],
  };
}

function metricFor(study: Study, measure: Measure, table: string) {
  const found = asMetric(study, measure, table);
  return metricOf(found.study, found.name);
}

/** Ends a group where a place begins another. */
function begin({ cells, breaks, axes, spec }: Parts, place: At, last: At): void {
  const grouped = spec.across !== undefined || axes.length > 1;
  if (grouped && cells.length > 0 && last[axes[0]!] !== place[axes[0]!]) {
    breaks.push(cells.length - 1);
  }
}

/** A place's titles; the first, which groups the rows, is shown once. */
function titles({ sheet: { study }, axes }: Parts, place: At, last: At): string[] {
  return axes.map((axis, index) =>
    index === 0 && axes.length > 1 && last[axis] === place[axis]
      ? ""
      : titleOf(study, axis, place[axis]!)
  );
}

/** `, n = 5`, or `, n = 3–5` where a row's cells differ. */
function seedsText(counts: readonly (Data[number] | undefined)[]): string {
  const found = counts.filter((count) => typeof count === "number");
  if (found.length === 0) return "";
  return `, n = ${rangeText(String(Math.min(...found)), String(Math.max(...found)))}`;
}

function titleFor(study: Study, measure: Measure, spec: SummaryTable): string {
  if (measure.title !== undefined) return measure.title;
  const { title, unit } = metricFor(study, measure, spec.table);
  const level = percent(study.confidence);
  const titles: Readonly<Record<Measure["show"], string>> = {
    mean_sd: "",
    mean: "mean",
    sd: "std. dev.",
    interval: `${level} interval`,
    n: "seeds",
    min_max: "min/max",
    change: "change",
    change_sd: "std. dev. of change",
    change_interval: `${level} interval of change`,
    wins_losses: "wins/losses",
    published: "paper",
    published_change: "paper's change",
  };
  const own = titles[measure.show];
  const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
  if (own === "") return withUnit(title, unit);
  const several = new Set(spec.columns.map((each) => each.metric ?? each.column)).size > 1;
  return capital(several && title !== "" ? `${title}: ${own}` : own);
}

/** What a measure's numbers are named by: `accuracy_change`. */
function nameFor(measure: Measure): string {
  const { show } = measure;
  return baseName(measure, show === "mean_sd" ? [] : [show]);
}

function dataNames(measure: Measure): string[] {
  return STATISTICS[measure.show].map((statistic) => baseName(measure, [statistic]));
}

function baseName({ metric, column, against, where, source }: Measure, rest: string[]): string {
  const which = [...Object.values(against ?? {}), ...Object.values(where ?? {}).flat(), source];
  return [metric ?? column, ...rest, ...which].filter((part) => part !== undefined).join("_")
    .replace(/[^A-Za-z0-9]+/g, "_");
}

/** Names of CSV columns; two measures that are alike are counted. */
function unique(names: readonly string[]): string[] {
  return names.map((name, index) => {
    const before = names.slice(0, index).filter((other) => other === name).length;
    return before === 0 ? name : `${name}_${before + 1}`;
  });
}

function intervalNote(spec: SummaryTable, study: Study): string[] {
  const shows = new Set(spec.columns.map(({ show }) => show));
  const [values, changes] = [shows.has("interval"), shows.has("change_interval")];
  if (!values && !changes) return [];
  const seeds = (axisOf(study, study.seeds)?.title ?? study.seeds).toLowerCase();
  const what = [...values ? ["the mean"] : [], ...changes ? ["the mean change"] : []];
  return [
    `Intervals are Student t intervals of ${what.join(" and of ")}` +
    (changes ? `; changes are between runs under one ${seeds}.` : "."),
  ];
}

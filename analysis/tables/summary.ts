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
  type Provenance,
  provenanceOf,
  rowsAt,
  shortOf,
  type Study,
  titleOf,
} from "../study.ts";
import type { At, TidyTable } from "../tidy/table.ts";
import { NONE, percent, rangeText, withUnit } from "./format.ts";
import { type Making, only, tableOf, words } from "./making.ts";
import { asMetric, type Place, type Shown, shownOf, STATISTICS } from "./measures.ts";
import { conditionAxes, notesOn, placesIn, type Sheet } from "./places.ts";
import { linked, type Table } from "./table.ts";

/** A declared summary; null if nothing of it was run. */
export function summaryTable(sheet: Sheet, id: string, spec: SummaryTable): Table | null {
  const { study } = sheet;
  const table = study.tidy[spec.table];
  if (table === undefined) return null;
  const rows = rowsAt(table, spec.where);
  const axes = rowAxes(study, { table, rows, spec });
  const parts = { sheet, spec, table, axes, places: placesIn(study, { table, rows, axes }) };
  const { shown, made } = spec.across === undefined ? rowsOf(parts) : acrossOf(parts, spec.across);
  const timed = spec.columns.some((each) => metricFor(study, each, spec.table).timed === true);
  return shown.length === 0 ? null : {
    ...{ ...made, id, caption: spec.caption },
    notes: [
      ...spec.notes,
      ...intervalNote(spec, study),
      ...notesOn(study, { places: shown, timed }),
    ],
  };
}

/** A table in the making. */
interface Parts {
  readonly sheet: Sheet;
  readonly spec: SummaryTable;
  readonly table: TidyTable;
  readonly axes: readonly string[];
  readonly places: readonly At[];
}

/** The table, and the conditions that it shows. */
interface Built {
  readonly made: Table;
  readonly shown: readonly At[];
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
function rowsOf(parts: Parts): Built {
  const { sheet: { study }, spec, axes } = parts;
  const rows = parts.places.map((place) => {
    const at = conditionAt(parts, place);
    const cells = spec.columns.map((each) => shownOf(parts.sheet, each, placeOf(parts, at, each)));
    return { place, at, cells, data: dataOf(parts, at) };
  }).filter(({ cells }) => cells.some(({ text }) => text !== NONE));
  type Row = typeof rows[number];
  const firsts = firstsOf(rows, axes);
  const made = tableOf<Row>(rows, [
    ...axisColumns<Row>(study, axes, firsts),
    words(
      "Source",
      "",
      ({ data }) => data.text,
      (row) => {
        const { text } = row.data;
        return firsts.has(row) || rows[rows.indexOf(row) - 1]!.data.text !== text ? text : "";
      },
    ),
    only("data_kind", ({ data }) => data.kind),
    ...spec.columns.flatMap((each, index): Making<Row>[] => [
      {
        ...{ title: titleFor(study, each, spec), name: nameFor(each) },
        words: rows.every(({ cells }) => typeof cells[index]!.values[0] === "string"),
        show: ({ cells }) => linked(cells[index]!.text, cells[index]!.to),
      },
      ...STATISTICS[each.show].map((statistic, at) =>
        only<Row>(baseName(each, [statistic]), ({ cells }) => cells[index]!.values[at]!)
      ),
    ]),
  ], {
    ...{ id: "", caption: "", named: ({ place }) => axes.map((axis) => place[axis]!) },
    breaks: axes.length > 1 ? breaksOf(rows, firsts) : [],
  });
  return { made, shown: rows.map(({ at }) => at) };
}

/** What is shown and printed of a condition of a table across an axis. */
interface Crossed {
  readonly place: At;
  readonly at: At;
  readonly value: string;
  readonly ours: Shown;
  readonly printed: Shown;
  readonly seeds: Shown["values"][number];
}

/** A row of ours for each place and one of the paper's, a column for each value of an axis. */
function acrossOf(parts: Parts, across: string): Built {
  const { sheet: { study }, spec, table, axes } = parts;
  const values = table.axes.includes(across)
    ? placesIn(study, { table, rows: rowsAt(table, spec.where), axes: [across] })
      .map((at) => at[across]!)
    : [];
  const rows = parts.places.flatMap((place) => {
    const conditions = values.map((value) => crossedAt(parts, { place, across, value }));
    if (conditions.every(({ ours }) => ours.text === NONE)) return [];
    const { text } = dataOf(parts, conditionAt(parts, place));
    const ours = {
      ...{ place, conditions, label: `This run: ${text}${seedsText(conditions)}`, who: [] },
      cells: conditions.map(({ ours: { text, to } }) =>
        linked(text === NONE ? "not run" : text, to)
      ),
    };
    const cells = conditions.map(({ printed }) => printed.text);
    return cells.every((text) => text === NONE)
      ? [ours]
      : [ours, { place, conditions: [], label: "Paper, as printed", who: ["paper"], cells }];
  });
  type Row = typeof rows[number];
  const firsts = firstsOf(rows, axes);
  const made = tableOf<Row>(rows, [
    ...axisColumns<Row>(study, axes, firsts, ({ who }) => who.length > 0),
    words("Source", "", ({ label }) => label),
    ...values.map((value, index): Making<Row> => ({
      ...{ title: shortOf(study, across, value), name: value },
      show: ({ cells }) => cells[index]!,
    })),
  ], {
    ...{ id: "", caption: "", breaks: breaksOf(rows, firsts) },
    named: ({ place, who }) => [...axes.map((axis) => place[axis]!), ...who],
  });
  const conditions = rows.flatMap((row) => row.conditions)
    .filter(({ ours, printed }) => ours.text !== NONE || printed.text !== NONE);
  const { data } = crossedTable(parts, across, conditions);
  return { made: { ...made, data }, shown: conditions.map(({ at }) => at) };
}

function crossedAt(
  parts: Parts,
  { place, across, value }: { place: At; across: string; value: string },
): Crossed {
  const measure = parts.spec.columns[0]!;
  const at = conditionAt(parts, { ...place, [across]: value });
  const show = (own: Measure) => shownOf(parts.sheet, own, placeOf(parts, at, own));
  const printed = theirsOf(parts.spec);
  return {
    ...{ place, at, value, ours: show(measure) },
    printed: parts.spec.published === undefined ? { text: NONE, values: [] } : show(printed),
    seeds: show({ ...measure, show: "n" }).values[0]!,
  };
}

/** What the paper prints of a table across an axis. */
function theirsOf({ columns: [measure], published }: SummaryTable): Measure {
  const isChange = measure!.show.startsWith("change");
  return {
    ...{ ...measure!, source: published },
    show: isChange ? "published_change" : "published",
  };
}

/** A table across an axis for programs: a row for each condition. */
function crossedTable(parts: Parts, across: string, conditions: readonly Crossed[]): Table {
  const measure = parts.spec.columns[0]!;
  return tableOf<Crossed>(conditions, [
    ...parts.axes.map((axis) => only<Crossed>(axis, ({ place }) => place[axis]!)),
    only(across, ({ value }) => value),
    only("data_kind", ({ at }) => dataOf(parts, at).kind),
    ...STATISTICS[measure.show].map((statistic, index) =>
      only<Crossed>(baseName(measure, [statistic]), ({ ours }) => ours.values[index]!)
    ),
    ...STATISTICS[theirsOf(parts.spec).show].map((statistic, index) =>
      only<Crossed>(statistic, ({ printed }) => printed.values[index] ?? null)
    ),
  ], { id: "", caption: "" });
}

/** How what a table shows at some coordinates relates to the paper's data and models. */
function dataOf({ sheet: { study }, spec }: Parts, at: At): Provenance {
  return provenanceOf(study, { ...spec.where, ...at });
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

/** Rows that begin a group: places that share the first axis' value. */
function firstsOf<R extends { readonly place: At }>(
  rows: readonly R[],
  [axis]: readonly string[],
): Set<R> {
  return new Set(rows.filter(({ place }, index) => rows[index - 1]?.place[axis!] !== place[axis!]));
}

function breaksOf<R>(rows: readonly R[], firsts: ReadonlySet<R>): number[] {
  return rows.flatMap((row, index) => index > 0 && firsts.has(row) ? [index - 1] : []);
}

/** A place's titles; the first, which groups the rows, is shown once. */
function axisColumns<R extends { readonly place: At }>(
  study: Study,
  axes: readonly string[],
  firsts: ReadonlySet<R>,
  isBlank: (row: R) => boolean = () => false,
): Making<R>[] {
  return axes.map((axis, index) =>
    words(
      axisOf(study, axis)?.title ?? axis,
      axis,
      ({ place }) => place[axis]!,
      (row) =>
        isBlank(row) || (index === 0 && axes.length > 1 && !firsts.has(row))
          ? ""
          : titleOf(study, axis, row.place[axis]!),
    )
  );
}

/** `, n = 5`, or `, n = 3–5` where a row's cells differ. */
function seedsText(cells: readonly { readonly seeds: unknown }[]): string {
  const found = cells.map(({ seeds }) => seeds).filter((count) => typeof count === "number");
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

function baseName({ metric, column, against, where, source }: Measure, rest: string[]): string {
  const which = [...Object.values(against ?? {}), ...Object.values(where ?? {}).flat(), source];
  return [metric ?? column, ...rest, ...which].filter((part) => part !== undefined).join("_")
    .replace(/[^A-Za-z0-9]+/g, "_");
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

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
import { type Making, only, tableOf, words } from "./making.ts";
import { asMetric, type Place, shownOf, STATISTICS } from "./measures.ts";
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
    return { place, at, cells, label: provenanceOf(study, at).text };
  }).filter(({ cells }) => cells.some(({ text }) => text !== NONE));
  type Row = typeof rows[number];
  const begins = beginsOf(rows, axes);
  const made = tableOf<Row>(rows, [
    ...axisColumns<Row>(study, axes, begins),
    words(
      "Source",
      "",
      ({ label }) => label,
      (row) => begins(row) || rows[rows.indexOf(row) - 1]!.label !== row.label ? row.label : "",
    ),
    only("data_kind", ({ at }) => provenanceOf(study, at).kind),
    ...spec.columns.flatMap((each, index): Making<Row>[] => [
      {
        ...{ title: titleFor(study, each, spec), name: nameFor(each) },
        show: ({ cells }) => linked(cells[index]!.text, cells[index]!.to),
      },
      ...STATISTICS[each.show].map((statistic, at) =>
        only<Row>(baseName(each, [statistic]), ({ cells }) => cells[index]!.values[at]!)
      ),
    ]),
  ], {
    ...{ id: "", caption: "", named: ({ place }) => axes.map((axis) => place[axis]!) },
    breaks: axes.length > 1 ? breaksOf(rows, begins) : [],
  });
  return { made, shown: rows.map(({ at }) => at) };
}

/** A row of ours for each place and one of the paper's, a column for each value of an axis. */
function acrossOf(parts: Parts, across: string): Built {
  const { sheet, sheet: { study }, spec, table, axes } = parts;
  const measure = spec.columns[0]!;
  const values = table.axes.includes(across)
    ? placesIn(study, { table, rows: rowsAt(table, spec.where), axes: [across] })
      .map((at) => at[across]!)
    : [];
  const theirs: Measure = {
    ...{ ...measure, source: spec.published },
    show: measure.show.startsWith("change") ? "published_change" : "published",
  };
  const rows = parts.places.flatMap((place) => {
    const conditions = values.map((value) => {
      const at = conditionAt(parts, { ...place, [across]: value });
      const show = (own: Measure) => shownOf(sheet, own, placeOf(parts, at, own));
      const seeds = show({ ...measure, show: "n" }).values[0];
      const printed = spec.published === undefined ? undefined : show(theirs);
      return { place, at, value, ours: show(measure), printed, seeds };
    });
    const label = provenanceOf(study, conditionAt(parts, place)).text;
    const ours = {
      ...{ place, conditions, label: `This run: ${label}${seedsText(conditions)}`, who: [] },
      cells: conditions.map(({ ours: { text, to } }) =>
        linked(text === NONE ? "not run" : text, to)
      ),
    };
    if (conditions.every(({ ours }) => ours.text === NONE)) return [];
    const cells = conditions.map(({ printed }) => printed?.text ?? NONE);
    return cells.every((text) => text === NONE)
      ? [ours]
      : [ours, { place, conditions: [], label: "Paper, as printed", who: ["paper"], cells }];
  });
  type Row = typeof rows[number];
  const begins = beginsOf(rows, axes);
  const made = tableOf<Row>(rows, [
    ...axisColumns<Row>(study, axes, begins, ({ who }) => who.length > 0),
    words("Source", "", ({ label }) => label),
    ...values.map((value, index): Making<Row> => ({
      ...{ title: shortOf(study, across, value), name: value },
      show: ({ cells }) => cells[index]!,
    })),
  ], {
    ...{ id: "", caption: "", breaks: breaksOf(rows, begins) },
    named: ({ place, who }) => [...axes.map((axis) => place[axis]!), ...who],
  });
  const conditions = rows.flatMap((row) => row.conditions)
    .filter(({ ours, printed }) => ours.text !== NONE || (printed?.text ?? NONE) !== NONE);
  type Condition = typeof conditions[number];
  const { data } = tableOf<Condition>(conditions, [
    ...axes.map((axis) => only<Condition>(axis, ({ place }) => place[axis]!)),
    only(across, ({ value }) => value),
    only("data_kind", ({ at }) => provenanceOf(study, at).kind),
    ...STATISTICS[measure.show].map((statistic, index) =>
      only<Condition>(baseName(measure, [statistic]), ({ ours }) => ours.values[index]!)
    ),
    ...STATISTICS[theirs.show].map((statistic, index) =>
      only<Condition>(statistic, ({ printed }) => printed?.values[index] ?? null)
    ),
  ], { id: "", caption: "" });
  return { made: { ...made, data }, shown: conditions.map(({ at }) => at) };
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

/** Whether a row begins a group: places that share the first axis' value. */
function beginsOf<R extends { readonly place: At }>(rows: readonly R[], axes: readonly string[]) {
  return (row: R): boolean => rows[rows.indexOf(row) - 1]?.place[axes[0]!] !== row.place[axes[0]!];
}

function breaksOf<R>(rows: readonly R[], begins: (row: R) => boolean): number[] {
  return rows.flatMap((row, index) => index > 0 && begins(row) ? [index - 1] : []);
}

/** A place's titles; the first, which groups the rows, is shown once. */
function axisColumns<R extends { readonly place: At }>(
  study: Study,
  axes: readonly string[],
  begins: (row: R) => boolean,
  isBlank: (row: R) => boolean = () => false,
): Making<R>[] {
  return axes.map((axis, index) =>
    words(
      axisOf(study, axis)?.title ?? axis,
      axis,
      ({ place }) => place[axis]!,
      (row) =>
        isBlank(row) || (index === 0 && axes.length > 1 && !begins(row))
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

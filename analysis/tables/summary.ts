/**
 * Declared tables of conditions: a row for each, or a column for each value of an axis.
 *
 * @module
 */
import type { Measure, SummaryTable } from "../spec/tables.ts";
import { type Provenance, provenanceOf } from "../provenance.ts";
import { atOf, axisOf, isAt, metricOf, rowsAt, shortOf, type Study, titleOf } from "../study.ts";
import type { At, TidyTable } from "../tidy/table.ts";
import { capitalized, countText, NONE, percent, withUnit } from "./format.ts";
import { type Making, only, tableOf, words } from "./making.ts";
import { asMetric, KINDS, type Shown, shownOf } from "./measures.ts";
import { conditionAxes, notesOn, placesIn, type Sheet } from "./places.ts";
import { type Cell, linked, type Table } from "./table.ts";

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
      ...choiceNote(spec, { choice: sheet.choice, axes }),
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

/** A condition with what its columns show. */
interface Row {
  readonly place: At;
  /** All coordinates that its runs agree on. */
  readonly at: At;
  readonly cells: readonly Shown[];
  readonly data: Provenance;
}

/** A row for each place, a column for each measure. */
function rowsOf(parts: Parts): Built & { readonly rows: readonly Row[] } {
  const { sheet: { study }, spec, axes } = parts;
  const rows = parts.places.map((place): Row => {
    const at = conditionAt(parts, place);
    const cells = spec.columns.map((each) => cellAt(parts, at, each));
    return { place, at, cells, data: provenanceOf(study, { ...spec.where, ...at }) };
  }).filter(({ cells }) => says(cells, spec));
  const begins = groupsBy<Row>(axes);
  const source = (row: Row, index: number) => {
    const before = rows[index - 1];
    return begins(row, before) || before?.data.text !== row.data.text ? row.data.text : "";
  };
  const made = tableOf<Row>(rows, [
    ...axisColumns<Row>(study, axes),
    words("Source", "", ({ data }) => data.text, (row) => source(row, rows.indexOf(row))),
    only("data_kind", ({ data }) => data.kind),
    ...spec.columns.flatMap((each, index): Making<Row>[] => [
      {
        ...{ title: titleFor(study, each, spec), name: nameFor(each) },
        words: rows.every(({ cells }) => typeof cells[index]!.values[0] === "string"),
        show: ({ cells }) => linked(cells[index]!.text, cells[index]!.to),
      },
      ...KINDS[each.show].numbers.map((statistic, at) =>
        only<Row>(baseName(each, [statistic]), ({ cells }) => cells[index]!.values[at]!)
      ),
    ]),
  ], {
    ...{ id: "", caption: "", named: ({ place }) => axes.map((axis) => place[axis]!) },
    begins: axes.length > 1 ? begins : undefined,
  });
  return { made, rows, shown: rows.map(({ at }) => at) };
}

/** Whether a row has more to show than how many runs there are, unless nothing else is asked for. */
function says(cells: readonly Shown[], { columns }: SummaryTable): boolean {
  const counts = columns.every(({ show }) => show === "n");
  return cells.some(({ text }, index) => text !== NONE && (counts || columns[index]!.show !== "n"));
}

/** A row of a table across an axis: of ours, or of the paper's. */
interface Line {
  readonly place: At;
  readonly label: string;
  readonly who: readonly string[];
  readonly cells: readonly Cell[];
}

/**
 * A row of ours for each place and one of the paper's, a column for each value of an axis; for
 * programs a row for each condition.
 */
function acrossOf(parts: Parts, across: string): Built {
  const { sheet: { study }, spec, table, axes, places } = parts;
  const [measure] = spec.columns as [Measure];
  const ours = table.axes.includes(across) ? rowsAt(table, spec.where) : [];
  const values = placesIn(study, { table, rows: ours, axes: [across] }).map((at) => at[across]!);
  const columns = spec.published === undefined
    ? [measure]
    : [measure, theirsOf(measure, spec.published)];
  const long = rowsOf({
    ...{ ...parts, spec: { ...spec, columns }, axes: [...axes, across] },
    places: places.flatMap((place) => values.map((value) => ({ ...place, [across]: value }))),
  });
  const rows = places.flatMap((place) =>
    linesOf(parts, {
      place,
      conditions: values.map((value) =>
        long.rows.find((row) => isAt(row.place, { ...place, [across]: value }))
      ),
    })
  );
  const made = tableOf<Line>(rows, [
    ...axisColumns<Line>(study, axes, ({ who }) => who.length > 0),
    words("Source", "", ({ label }) => label),
    ...values.map((value, index): Making<Line> => ({
      ...{ title: shortOf(study, across, value), name: value },
      show: ({ cells }) => cells[index]!,
    })),
  ], {
    ...{ id: "", caption: "", begins: groupsBy(axes) },
    named: ({ place, who }) => [...axes.map((axis) => place[axis]!), ...who],
  });
  return { made: { ...made, data: long.made.data }, shown: long.shown };
}

/** The rows of a place, given its condition at each value of the axis that the table goes across. */
function linesOf(
  parts: Parts,
  { place, conditions }: { place: At; conditions: readonly (Row | undefined)[] },
): Line[] {
  const { sheet: { study }, spec } = parts;
  const [ours, printed] = [0, 1].map((column) =>
    conditions.map((row) => row?.cells[column] ?? { text: NONE, values: [] })
  ) as [Shown[], Shown[]];
  const isEmpty = (cells: readonly Shown[]) => cells.every(({ text }) => text === NONE);
  if (isEmpty(ours)) return [];
  const { text } = provenanceOf(study, { ...spec.where, ...conditionAt(parts, place) });
  const seeds = conditions.flatMap((row) =>
    row && cellAt(parts, row.at, { ...spec.columns[0]!, show: "n" }).values[0] || []
  );
  const cells = ours.map(({ text, to }) => linked(text === NONE ? "not run" : text, to));
  const count = seeds.length === 0 ? "" : `, ${countText(seeds.map(Number))}`;
  const own = { place, label: `This run: ${text}${count}`, who: [], cells };
  if (isEmpty(printed)) return [own];
  const theirs = printed.map(({ text }) => text);
  return [own, { place, label: "Paper, as printed", who: ["paper"], cells: theirs }];
}

/** What a source of the paper prints of what a measure shows. */
function theirsOf(measure: Measure, source: string): Measure {
  const show = measure.show.startsWith("change") ? "published_change" : "published";
  return { ...measure, source, show };
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

/** What a measure shows at some coordinates. */
function cellAt(parts: Parts, at: At, measure: Measure): Shown {
  const { sheet, spec, axes } = parts;
  const table = sheet.study.tidy[metricFor(sheet.study, measure, spec.table).table];
  const values = (axis: string) => {
    const rows = rowsAt(table, { ...spec.where, ...measure.where });
    return [...new Set(rows.map((row) => String(table!.columns[axis]![row])))];
  };
  const over = [...new Set(spec.columns.flatMap((each) => each.over))]
    .filter((axis) => table?.axes.includes(axis)).map((axis) => [axis, values(axis)]);
  return shownOf(sheet, measure, {
    ...{ table: spec.table, at, where: spec.where, over: Object.fromEntries(over) },
    axes: [...axes, ...(spec.across === undefined ? [] : [spec.across])],
  });
}

function metricFor(study: Study, measure: Measure, table: string) {
  const found = asMetric(study, measure, table);
  return metricOf(found.study, found.name);
}

/** Whether a place begins a group: those of one group share the first axis' value. */
function groupsBy<R extends { readonly place: At }>([axis]: readonly string[]) {
  return ({ place }: R, before: R | undefined) => place[axis!] !== before?.place[axis!];
}

/** A place's titles; the first groups the rows. */
function axisColumns<R extends { readonly place: At }>(
  study: Study,
  axes: readonly string[],
  isBlank: (row: R) => boolean = () => false,
): Making<R>[] {
  return axes.map((axis, index) => ({
    ...words<R>(
      axisOf(study, axis)?.title ?? axis,
      axis,
      ({ place }) => place[axis]!,
      (row) => isBlank(row) ? "" : titleOf(study, axis, row.place[axis]!),
    ),
    once: index === 0,
  }));
}

function titleFor(study: Study, measure: Measure, spec: SummaryTable): string {
  if (measure.title !== undefined) return measure.title;
  const metric = metricFor(study, measure, spec.table);
  const { title, unit } = metric;
  const own = KINDS[measure.show].title.replace(
    "interval",
    `${percent(study.confidence)} interval`,
  );
  if (own === "") return withUnit(title, unit);
  const several = new Set(spec.columns.map((each) => each.metric ?? each.column)).size > 1;
  const whole = capitalized(several && title !== "" ? `${title}: ${own}` : own);
  // Changes by ratios are in another unit than the values beside them.
  return metric.change === "ratio" && own.includes("change") ? withUnit(whole, "%") : whole;
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

function choiceNote(
  { columns }: SummaryTable,
  { choice, axes }: { readonly choice: string | undefined; readonly axes: readonly string[] },
): string[] {
  const changes = columns.some(({ show }) => show.startsWith("change") || show === "wins_losses");
  return changes && choice !== undefined && axes.includes(choice)
    ? ["What a change is from is taken as by default where it knows no such choice."]
    : [];
}

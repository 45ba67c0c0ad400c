/**
 * Rows of a tidy table as they are, each number with the way to its artifact.
 *
 * @module
 */
import type { ListTable } from "../spec/tables.ts";
import { atOf, axisOf, provenanceOf, rowsAt, type Study, titleOf } from "../study.ts";
import type { TidyTable, Value } from "../tidy/table.ts";
import { decimal, NONE, withUnit } from "./format.ts";
import { type Making, only, tableOf, words } from "./making.ts";
import { byAxes, notesOn } from "./places.ts";
import { type Cell, linked, type Table } from "./table.ts";

/** A column of a list, by what the experiment says of it. */
interface Listed {
  readonly column: string;
  readonly title: string;
  readonly digits: number | undefined;
  readonly scale: number;
  readonly axis: boolean;
  /** Whether it holds words alone. */
  readonly words: boolean;
}

/**
 * A declared list; null if it has no rows.
 *
 * @param options.anchor A name for the rows of a condition, which are then sorted together.
 * @param options.rowOf Where a row's number is in the tidy table as measured, if it is there.
 */
export function listTable(
  study: Study,
  { id, spec, anchor, rowOf = (row) => row, timed = false }: {
    id: string;
    spec: ListTable;
    anchor?: (row: number) => string;
    rowOf?: (row: number, column: string) => number | undefined;
    timed?: boolean;
  },
): Table | null {
  const table = study.tidy[spec.list];
  if (table === undefined) return null;
  const listed = spec.columns.filter(({ column }) => table.columns[column] !== undefined)
    .map((each) => listedOf(study, table, each));
  const axes = listed.filter(({ axis }) => axis).map(({ column }) => column);
  const compare = byAxes(study, axes);
  const rows = rowsAt(table, spec.where)
    .sort((a, b) => compare(atOf(table, a, axes), atOf(table, b, axes)));
  if (rows.length === 0 || axes.length === listed.length) return null;
  // Where a list has data sets, it says what they are.
  const labelled = anchor === undefined &&
    study.corpora.some(({ at }) => Object.keys(at).some((axis) => axes.includes(axis)));
  const group = axes.find((axis) => axis === spec.group);
  const firsts = new Set(rows.filter((row, index) =>
    group === undefined || index === 0 ||
    table.columns[group]![row] !== table.columns[group]![rows[index - 1]!]
  ));
  const valueIn = (column: string, row: number) => table.columns[column]![row] ?? null;
  const columns = listed.map((each): Making<number> => ({
    ...{ title: each.title, name: each.column, words: each.axis || each.words },
    value: (row) => {
      const value = valueIn(each.column, row);
      return typeof value === "number" ? value * each.scale : value;
    },
    show: (row) =>
      each.column === group && !firsts.has(row) ? "" : cellOf(study, each, {
        value: valueIn(each.column, row),
        to: linkTo(table.name, rowOf(row, each.column), each.column),
      }),
  }));
  const source = sourceColumns(study, table, firsts);
  const names = anchor === undefined ? [] : rows.map(anchor);
  const anchors = names.flatMap((name, index): [number, string][] =>
    name === names[index - 1] ? [] : [[index, name]]
  );
  return tableOf(rows, labelled ? columns.toSpliced(axes.length, 0, ...source) : columns, {
    ...{ id, caption: spec.caption, anchors },
    named: (row) =>
      listed.filter((each) => each.axis || each.words)
        .map(({ column }) => String(valueIn(column, row) ?? "")),
    breaks: group === undefined
      ? []
      : rows.flatMap((row, index) => index > 0 && firsts.has(row) ? [index - 1] : []),
    notes: [
      ...spec.notes,
      ...notesOn(study, {
        places: rows.map((row) => atOf(table, row)),
        timed: timed || listed.some(({ column }) => study.metrics[column]?.timed === true),
      }),
    ],
  });
}

/** What data a list's rows are of, once for each group. */
function sourceColumns(
  study: Study,
  table: TidyTable,
  firsts: ReadonlySet<number>,
): Making<number>[] {
  const label = (row: number) => provenanceOf(study, atOf(table, row));
  return [
    words("Source", "", () => "", (row) => firsts.has(row) ? label(row).text : ""),
    only("data_kind", (row) => label(row).kind),
  ];
}

function listedOf(
  study: Study,
  table: TidyTable,
  { column, title, digits, scale, unit }: ListTable["columns"][number],
): Listed {
  const metric = study.metrics[column];
  const isAxis = table.axes.includes(column);
  const own = title ?? (isAxis ? axisOf(study, column)?.title : metric?.title) ?? column;
  return {
    column,
    title: withUnit(own, unit === "" ? metric?.unit ?? "" : unit),
    digits: digits ?? metric?.digits,
    scale: scale === 1 ? metric?.scale ?? 1 : scale,
    axis: isAxis,
    words: table.columns[column]!.every((value) => typeof value !== "number"),
  };
}

function cellOf(
  study: Study,
  { axis, column, scale, digits }: Listed,
  { value, to }: { value: Value; to: string | undefined },
): Cell {
  if (axis) return titleOf(study, column, String(value));
  if (typeof value !== "number") return value ?? NONE;
  const scaled = value * scale;
  return linked(decimal(scaled, digits ?? (Number.isInteger(scaled) ? 0 : 2)), to);
}

function linkTo(table: string, row: number | undefined, column: string): string | undefined {
  return row === undefined ? undefined : `row:${table}/${row}/${column}`;
}

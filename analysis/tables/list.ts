/**
 * Rows of a tidy table as they are, each number with the way to its artifact.
 *
 * @module
 */
import type { ListTable } from "../spec/tables.ts";
import { atOf, axisOf, provenanceOf, rowsAt, type Study, titleOf } from "../study.ts";
import type { TidyTable, Value } from "../tidy/table.ts";
import { decimal, NONE, withUnit } from "./format.ts";
import { byAxes, notesOn } from "./places.ts";
import { type Cell, type Column, linked, numbers, type Table } from "./table.ts";

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
  const group = spec.group !== undefined && axes.includes(spec.group) ? spec.group : undefined;
  const valueIn = ({ column }: Listed, row: number) => table.columns[column]![row] ?? null;
  const isFirst = (index: number) =>
    group === undefined || index === 0 ||
    table.columns[group]![rows[index]!] !== table.columns[group]![rows[index - 1]!];
  const source = labelled ? axes.length : -1;
  const withSource = <T>(cells: readonly T[], own: T): T[] =>
    source < 0 ? [...cells] : cells.toSpliced(source, 0, own);
  const anchors = anchor === undefined
    ? []
    : rows.map((row, index) => [index, anchor(row)] as const)
      .filter(([index, name]) => index === 0 || anchor(rows[index - 1]!) !== name);
  const words = listed.filter((each) => each.axis || each.words);
  return {
    id,
    caption: spec.caption,
    columns: withSource(listed.map(columnOf), { title: "Source" }),
    rows: rows.map((row, index) =>
      withSource(
        listed.map((each): Cell => {
          if (each.column === group && !isFirst(index)) return "";
          return cellOf(study, each, {
            value: valueIn(each, row),
            to: linkTo(table.name, rowOf(row, each.column), each.column),
          });
        }),
        isFirst(index) ? provenanceOf(study, atOf(table, row)).text : "",
      )
    ),
    names: rows.map((row) => words.map((each) => String(valueIn(each, row) ?? ""))),
    ...anchors.length > 0 ? { anchors } : {},
    ...group === undefined
      ? {}
      : { breaks: rows.map((_, index) => index - 1).filter((end) => end >= 0 && isFirst(end + 1)) },
    notes: [
      ...spec.notes,
      ...notesOn(study, {
        places: rows.map((row) => atOf(table, row)),
        timed: timed || listed.some(({ column }) => study.metrics[column]?.timed === true),
      }),
    ],
    data: {
      columns: withSource(listed.map(({ column }) => column), "data_kind"),
      rows: rows.map((row) =>
        withSource(
          listed.map((each) => {
            const value = valueIn(each, row);
            return typeof value === "number" ? value * each.scale : value;
          }),
          provenanceOf(study, atOf(table, row)).kind,
        )
      ),
    },
  };
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

function columnOf({ title, axis, words, column }: Listed): Column {
  return axis || words ? { title } : numbers(title, column);
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

/**
 * Rows of a tidy table as they are, each number with the way to its artifact.
 *
 * @module
 */
import type { ListTable } from "../spec/tables.ts";
import { median } from "../statistics/sample.ts";
import { provenanceOf } from "../provenance.ts";
import { atOf, axisOf, byAxes, rowsAt, type Study, titleOf } from "../study.ts";
import type { TidyTable, Value } from "../tidy/table.ts";
import { decimal, NONE, withUnit } from "./format.ts";
import { type Making, once, only, tableOf, words } from "./making.ts";
import { notesOn } from "./places.ts";
import { type Cell, linked, type Table } from "./table.ts";

/** What a list has of one column: of several rows at once their median, unless it says otherwise. */
export type ListColumn = ListTable["columns"][number] & {
  /** What CSV calls it; the column's name if left out. */
  readonly name?: string;
  readonly of?: (values: readonly number[], rows: number) => number;
};

/** A column of a list, by what the experiment says of it. */
interface Listed extends ListColumn {
  readonly title: string;
  readonly axis: boolean;
  /** Whether it holds words alone. */
  readonly words: boolean;
}

/** Rows of a tidy table that a list shows as one. */
type Group = readonly number[];

/**
 * A declared list; null if it has no rows.
 *
 * @param options.groups Rows that are shown as one; each row is shown if left out.
 * @param options.anchor A name for the rows of a condition, which are then sorted together.
 */
export function listTable(
  study: Study,
  { id, spec, groups, anchor, timed = false }: {
    id: string;
    spec: Omit<ListTable, "columns"> & { readonly columns: readonly ListColumn[] };
    groups?: readonly Group[];
    anchor?: (row: number) => string;
    timed?: boolean;
  },
): Table | null {
  const table = study.tidy[spec.list];
  if (table === undefined) return null;
  const listed = spec.columns.filter(({ column }) => table.columns[column] !== undefined)
    .map((each) => listedOf(study, table, each));
  const axes = listed.filter(({ axis }) => axis).map(({ column }) => column);
  const compare = byAxes(study, axes);
  const rows = (groups ?? rowsAt(table, spec.where).map((row) => [row]))
    .toSorted(([a], [b]) => compare(atOf(table, a!, axes), atOf(table, b!, axes)));
  if (rows.length === 0 || axes.length === listed.length) return null;
  // Where a list has data sets, it says what they are.
  const labelled = anchor === undefined &&
    study.corpora.some(({ at }) => Object.keys(at).some((axis) => axes.includes(axis)));
  const group = axes.find((axis) => axis === spec.group);
  const groupOf = (own: Group) => table.columns[group!]![own[0]!];
  const columns = listed.map((each): Making<Group> => ({
    ...{ title: each.title, name: each.name ?? each.column, words: each.axis || each.words },
    once: each.column === group,
    value: (own) => {
      const value = valueOf(table, each, own);
      return typeof value === "number" ? value * each.scale : value;
    },
    show: (own) =>
      cellOf(study, each, {
        value: valueOf(table, each, own),
        to: each.of === undefined ? `row:${table.name}/${own[0]!}/${each.column}` : undefined,
      }),
  }));
  const source = sourceColumns(study, table);
  return tableOf(rows, labelled ? columns.toSpliced(axes.length, 0, ...source) : columns, {
    ...{ id, caption: spec.caption },
    anchor: anchor && (([row]) => anchor(row!)),
    named: (own) =>
      listed.filter((each) => each.axis || each.words)
        .map((each) => String(valueOf(table, each, own) ?? "")),
    begins: group === undefined
      ? undefined
      : (own, before) => before === undefined || groupOf(own) !== groupOf(before),
    notes: [
      ...spec.notes,
      ...notesOn(study, {
        places: rows.map(([row]) => atOf(table, row!)),
        timed: timed || listed.some(({ column }) => study.metrics[column]?.timed === true),
      }),
    ],
  });
}

/** What data a list's rows are of, once for each group. */
function sourceColumns(study: Study, table: TidyTable): Making<Group>[] {
  const label = ([row]: Group) => provenanceOf(study, atOf(table, row!));
  return [
    once(words("Source", "", (own) => label(own).text)),
    only("data_kind", (own) => label(own).kind),
  ];
}

function listedOf(study: Study, table: TidyTable, given: ListColumn): Listed {
  const { column, title, digits, scale, unit } = given;
  const metric = study.metrics[given.name ?? column];
  const isAxis = table.axes.includes(column);
  const own = title ?? (isAxis ? axisOf(study, column)?.title : metric?.title) ?? column;
  return {
    ...given,
    title: withUnit(own, unit === "" ? metric?.unit ?? "" : unit),
    digits: digits ?? metric?.digits,
    scale: scale === 1 ? metric?.scale ?? 1 : scale,
    axis: isAxis,
    words: table.columns[column]!.every((value) => typeof value !== "number"),
  };
}

/** A group's value: a statistic of its numbers, or the text that its rows share. */
function valueOf(table: TidyTable, { column, of = median }: Listed, group: Group): Value {
  const values = group.map((row) => table.columns[column]![row] ?? null);
  const numbers = values.filter((value) => typeof value === "number");
  return numbers.length > 0 ? of(numbers, group.length) : values[0]!;
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

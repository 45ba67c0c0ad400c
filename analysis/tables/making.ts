/**
 * Tables column by column: what people see and what programs read, from the same rows.
 *
 * @module
 */
import type { At } from "../tidy/table.ts";
import { placeText, type Study } from "../study.ts";
import { intervalText, NONE } from "./format.ts";
import { differenceText, without } from "./places.ts";
import type { Cell, Table } from "./table.ts";

type Value = string | number | null;

/** A column: shown if it has a title, in CSV if it has a value. */
export interface Making<R> {
  readonly title?: string;
  /** In CSV, unless it is empty, and in macros' names of numbers. */
  readonly name: string;
  readonly words?: boolean;
  /** Whether it is shown in the first row of a group alone. */
  readonly once?: boolean;
  readonly show?: (row: R) => Cell;
  readonly value?: (row: R) => Value;
}

/** A column of words. */
export function words<R>(
  title: string,
  name: string,
  value: (row: R) => string,
  show: (row: R) => Cell = value,
): Making<R> {
  return { title, name, words: true, value, show };
}

/** A column that is shown in the first row of a group alone. */
export function once<R>(column: Making<R>): Making<R> {
  return { ...column, once: true };
}

/** A column of numbers, each shown by `text` if it is there. */
export function figures<R>(
  title: string,
  name: string,
  value: (row: R) => number | null,
  text: (value: number, row: R) => Cell = String,
): Making<R> {
  const show = (row: R) => {
    const own = value(row);
    return own === null ? NONE : text(own, row);
  };
  return { title, name, value, show };
}

/** A column for programs alone. */
export function only<R>(name: string, value: (row: R) => Value): Making<R> {
  return { name, value };
}

/** A shown interval, two columns in CSV. */
export function bounds<R>(
  title: string,
  value: (row: R) => readonly [number, number] | null,
  text: (value: number, row: R) => string,
): Making<R>[] {
  const show = (row: R) => {
    const own = value(row);
    return own === null ? NONE : intervalText(own, (bound) => text(bound, row));
  };
  return [
    { title, name: "interval", show },
    only("interval_low", (row) => value(row)?.[0] ?? null),
    only("interval_high", (row) => value(row)?.[1] ?? null),
  ];
}

/** What rows of differences are of; in CSV all coordinates, and what they are from: `against_oven`. */
export function differences<R extends { readonly at: At; readonly against: At }>(
  study: Study,
  rows: readonly R[],
): Making<R>[] {
  const used = (ats: readonly At[]) => {
    const names = [...new Set(ats.flatMap((at) => Object.keys(at)))];
    const known = study.axes.map(({ name }) => name).filter((name) => names.includes(name));
    return [...known, ...names.filter((name) => !known.includes(name))];
  };
  return [
    ...used(rows.map(({ at }) => at)).map((axis) => only<R>(axis, ({ at }) => at[axis] ?? null)),
    ...used(rows.map(({ against }) => against)).map((axis) =>
      only<R>(`against_${axis}`, ({ at, against }) => against[axis] ?? at[axis] ?? null)
    ),
    words(
      "Where",
      "",
      ({ at, against }) => placeText(study, without(at, against), { all: true }) || NONE,
    ),
    words("Difference", "", ({ at, against }) => differenceText(study, at, against)),
  ];
}

/**
 * A table of rows.
 *
 * @param options.named What tells a row from the others.
 * @param options.anchor Of neighbours with the same anchor the first has it.
 * @param options.begins Whether a row begins a group, given the one before it.
 */
export function tableOf<R>(
  rows: readonly R[],
  columns: readonly Making<R>[],
  { named, anchor, begins, ...rest }: Pick<Table, "id" | "caption" | "notes"> & {
    readonly named?: (row: R) => readonly string[];
    readonly anchor?: ((row: R) => string) | undefined;
    readonly begins?: ((row: R, before: R | undefined) => boolean) | undefined;
  },
): Table {
  const shown = columns.filter(({ title }) => title !== undefined);
  const read = columns.filter(({ name, value }) => name !== "" && value !== undefined);
  const anchors = anchor === undefined ? [] : rows.map(anchor);
  const firsts = begins && rows.map((row, index) => begins(row, rows[index - 1]));
  return {
    ...rest,
    columns: shown.map(({ title, name, words }) =>
      words ? { title: title! } : { title: title!, align: "right", name }
    ),
    rows: rows.map((row, index) => ({
      cells: shown.map(({ show, once }) => once && firsts?.[index] === false ? "" : show!(row)),
      ...named === undefined ? {} : { name: named(row) },
      ...anchors[index] === anchors[index - 1] ? {} : { anchor: anchors[index]! },
      ...firsts?.[index] ? { begins: true } : {},
    })),
    data: {
      columns: unique(read.map(({ name }) => name)),
      rows: rows.map((row) => read.map(({ value }) => value!(row))),
    },
  };
}

/** Names of CSV columns; of those that are alike the later are counted. */
function unique(names: readonly string[]): string[] {
  return names.map((name, index) => {
    const before = names.slice(0, index).filter((other) => other === name).length;
    return before === 0 ? name : `${name}_${before + 1}`;
  });
}

/**
 * What an experiment asks for: the cells of its grid, and which of them it leaves out.
 *
 * @module
 */
import type { At } from "./tidy/table.ts";

/** Values by axis. */
type Values = Readonly<Record<string, readonly string[]>>;

/** What is asked for. */
export interface Grid {
  readonly values: Values;
  /** Combinations of values that are left out: what matches all of an entry. */
  readonly exclude: readonly Values[];
  /** For each output that is gathered, the axes that it varies over. */
  readonly each: readonly (readonly string[])[];
}

/** What a run asks of an instance's inputs, in an order that is not the file's: that is no ingredient. */
export function gridOf(
  { at, grid, exclude }: {
    readonly at: At;
    readonly grid: Values;
    readonly exclude: readonly Values[];
  },
  each: readonly (readonly string[])[],
): Grid {
  const sorted = (values: Values) =>
    Object.fromEntries(
      Object.entries(values).map(([axis, own]) => [axis, own.toSorted()] as const)
        .sort(([a], [b]) => a < b ? -1 : 1),
    );
  const own = Object.fromEntries(Object.entries(at).map(([axis, value]) => [axis, [value]]));
  return {
    values: sorted({ ...grid, ...own }),
    exclude: inOrder(exclude.map(sorted)),
    each: inOrder(each.map((axes) => axes.toSorted())),
  };
}

function inOrder<T>(values: readonly T[]): T[] {
  return values.map((value) => [JSON.stringify(value), value] as const)
    .sort(([a], [b]) => a < b ? -1 : 1).map(([, value]) => value);
}

/** Whether a cell is asked for; an axis that the grid does not have rules nothing out. */
export function isAsked({ values, exclude }: Grid, at: At): boolean {
  return Object.entries(at).every(([axis, value]) => values[axis]?.includes(value) ?? true) &&
    !exclude.some((entry) =>
      Object.entries(entry).every(([axis, own]) => axis in at && own.includes(at[axis]!))
    );
}

/** Every cell that is gathered, once for each output of it. */
export function cellsOf(grid: Grid): At[] {
  return grid.each.flatMap((axes) =>
    axes.reduce<At[]>(
      (cells, axis) =>
        cells.flatMap((at) => (grid.values[axis] ?? []).map((value) => ({ ...at, [axis]: value }))),
      [{}],
    ).filter((at) => isAsked(grid, at))
  );
}

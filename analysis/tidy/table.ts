/**
 * A tidy table: a row for each observation, a column for each variable. Everything that is analysed
 * passes through such tables; no axis, metric or table has a meaning in code.
 *
 * @module
 */

/** One value; `null` where there is none. */
export type Value = string | number | null;

/** Named columns of equal length. */
export type Columns = Readonly<Record<string, readonly Value[]>>;

/** Coordinates: axis to value as written. Grid values are texts here, `"0"` for seed 0. */
export type At = Readonly<Record<string, string>>;

/** A table whose first columns are coordinates. */
export interface TidyTable {
  readonly name: string;
  /** Names of those columns that are axes: `dataset`, `operator`, `seed`. */
  readonly axes: readonly string[];
  readonly columns: Columns;
  /** Rows. */
  readonly length: number;
}

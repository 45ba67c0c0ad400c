/**
 * A table as data: for people, cells of text that may lead somewhere; for programs, numbers.
 *
 * @module
 */

/** One column; numbers are set right. */
export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
}

/**
 * What a cell shows, and where it leads on a page: `#anchor` of the rows behind it, or
 * `row:TABLE/INDEX/COLUMN`, the artifact that a tidy row's column was read from.
 */
export type Cell = string | { readonly text: string; readonly to: string };

/** A table for people and, in `data`, for programs. */
export interface Table {
  /** File stem and anchor: `table1`. */
  readonly id: string;
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly (readonly Cell[])[];
  /** Anchors of rows on a page: row index and name. */
  readonly anchors?: readonly (readonly [row: number, anchor: string])[];
  /** Rows after which a group ends, for a rule between groups. */
  readonly breaks?: readonly number[];
  readonly notes?: readonly string[];
  /** Unrounded, null where there is none; written as CSV. */
  readonly data: {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly (string | number | null)[])[];
  };
}

/**
 * A table as data: for people, cells of text that may lead somewhere; for programs, numbers.
 *
 * @module
 */

/** One column; numbers are set right. */
export interface Column {
  readonly title: string;
  readonly align?: "left" | "right";
  /** What its numbers are named by in rows that have names; none are without it. */
  readonly name?: string;
}

/**
 * What a cell shows, and where it leads on a page: `#anchor` of the rows behind it, or
 * `row:TABLE/INDEX/COLUMN`, the artifact that a tidy row's column was read from.
 */
export type Cell = string | { readonly text: string; readonly to: string };

/** One row for people. */
export interface Row {
  readonly cells: readonly Cell[];
  /** What tells it from the others, as values of axes; names its numbers. */
  readonly name?: readonly string[];
  /** Its anchor on a page, or that of those it is the first of. */
  readonly anchor?: string;
  /** Whether it begins a group: a rule is above it, unless it is the first. */
  readonly begins?: boolean;
}

/** A table for people and, in `data`, for programs. */
export interface Table {
  /** File stem and anchor: `table1`. */
  readonly id: string;
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly notes?: readonly string[];
  /** Unrounded, null where there is none; written as CSV. */
  readonly data: {
    readonly columns: readonly string[];
    readonly rows: readonly (readonly (string | number | null)[])[];
  };
}

/** A cell that leads somewhere, if there is somewhere to go. */
export function linked(text: string, to: string | undefined): Cell {
  return to === undefined ? text : { text, to };
}

/** A cell's text. */
export function cellText(cell: Cell): string {
  return typeof cell === "string" ? cell : cell.text;
}

/** A name for rows, the same for the same parts and for no others; a URL takes it as it is. */
export function rowsAnchor(...parts: readonly string[]): string {
  const plain = (part: string) =>
    part.replace(/[^A-Za-z0-9_.]/gu, (mark) => `~${mark.codePointAt(0)!.toString(16)}~`);
  return parts.map(plain).join("-");
}

/**
 * What an analysis leaves, in two JSON documents: the study, of which figures are drawn, and what is
 * said of it. So a claim, a caption or a table that is edited redraws no figure. Sizes are in shown units.
 *
 * @module
 */
import type { JudgedClaim } from "./claims/judged.ts";
import type { Study } from "./study.ts";
import type { Table } from "./tables/table.ts";
import type { At } from "./tidy/table.ts";

export const RESULTS_FORMAT = "lockstep-results/3";
export const SHOWN_FORMAT = "lockstep-shown/1";

/** What was found in the paper's own numbers: two that must agree. */
export interface Finding {
  readonly agrees: boolean;
  readonly text: string;
}

/** What an axis lacks of what was asked for: values in display order, of so many. */
export interface Absent {
  readonly axis: string;
  readonly values: readonly string[];
  readonly of: number;
}

/** The study with what is said of it. */
export interface Results {
  readonly study: Study;
  readonly claims: readonly JudgedClaim[];
  readonly findings: readonly Finding[];
  /** What hangs on what the paper leaves open, in words; empty where that was not asked. */
  readonly sensitivity: string;
  /** Values that were asked for and of which there is no run at all. */
  readonly absent: readonly Absent[];
  /** Other cells of the grid that were asked for and of which a file is not there. */
  readonly missing: readonly At[];
  /** In display order; cells lead to rows, see {@linkcode sourceOf}. */
  readonly tables: readonly Table[];
}

/** The document beside the study. */
export interface Shown extends Omit<Results, "study"> {
  readonly format: typeof SHOWN_FORMAT;
  readonly sources: Sources;
}

/**
 * Which artifact each tidy row was read from. Not in the study: that keeps its bits where an artifact
 * changes and its numbers do not.
 */
export interface Sources {
  /** By table, in the order of its rows: runs of rows that were read from the same artifacts. */
  readonly tables: Readonly<Record<string, readonly SourceRows[]>>;
}

/** Rows that were read from the same artifacts. */
export interface SourceRows {
  /** How many. */
  readonly rows: number;
  /** For each artifact the columns that it gave; the first gave the coordinates too. */
  readonly artifacts: readonly {
    readonly sha256: string;
    readonly columns: readonly string[];
  }[];
}

/**
 * The digest of the artifact that a tidy row's column was read from; `undefined` for a row that is
 * not there.
 */
export function sourceOf(
  sources: Sources,
  { table, row, column }: { table: string; row: number; column: string },
): string | undefined {
  let rest = row;
  for (const { rows, artifacts } of sources.tables[table] ?? []) {
    if (rest < rows) {
      return (artifacts.find(({ columns }) => columns.includes(column)) ?? artifacts[0])?.sha256;
    }
    rest -= rows;
  }
  return undefined;
}

/** Reads the study of a results file; what else may be wired here is refused by the plan. */
export function readStudy(path: string): Study {
  return (JSON.parse(Deno.readTextFileSync(path)) as { study: Study }).study;
}

/** Reads what is said of a study. */
export function readShown(path: string): Shown {
  return JSON.parse(Deno.readTextFileSync(path));
}

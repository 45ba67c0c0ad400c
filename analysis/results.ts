/**
 * The results file: everything that tables, figures and the report show, in one JSON document. Sizes
 * are in shown units.
 *
 * @module
 */
import { StageError } from "../pipeline/errors.ts";
import type { JudgedClaim } from "./claims/judged.ts";
import type { Study } from "./study.ts";
import type { Table } from "./tables/table.ts";
import type { At } from "./tidy/table.ts";

export const RESULTS_FORMAT = "lockstep-results/2";
export const SOURCES_FORMAT = "lockstep-sources/2";

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

export interface Results {
  readonly format: typeof RESULTS_FORMAT;
  readonly study: Study;
  readonly claims: readonly JudgedClaim[];
  readonly findings: readonly Finding[];
  /** What hangs on what the paper leaves open, in words; empty where that was not asked. */
  readonly sensitivity: string;
  /** Values that were asked for and of which there is no run at all. */
  readonly absent: readonly Absent[];
  /** Runs that the grid spanned by those at hand lacks. */
  readonly missing: readonly At[];
  /** In display order; cells lead to rows, see {@linkcode sourceOf}. */
  readonly tables: readonly Table[];
}

/**
 * Which artifact each tidy row was read from. A file of its own: the results keep their bits where an
 * artifact changes and its numbers do not.
 */
export interface Sources {
  readonly format: typeof SOURCES_FORMAT;
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

/**
 * Reads a results file.
 *
 * @param what What it should be, for the error: `aggregate.results`.
 * @throws {StageError} If it is none.
 */
export function readResults(path: string, what: string): Results {
  const fail = (found: string): never => {
    throw new StageError(
      `Cannot read ${what}: it must be a results file, ${found}; wire the output "results" of a ` +
        "stage that aggregates",
    );
  };
  try {
    const file: { format?: unknown } | null = JSON.parse(Deno.readTextFileSync(path));
    if (file?.format === RESULTS_FORMAT) return file as Results;
    return fail(`found format ${JSON.stringify(file?.format ?? null)}`);
  } catch (error) {
    if (error instanceof SyntaxError) return fail(`found ${error.message}`);
    throw error;
  }
}

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

/** What was found in the paper's own numbers: two that must agree. */
export interface Finding {
  readonly agrees: boolean;
  readonly text: string;
}

export interface Results {
  readonly format: typeof RESULTS_FORMAT;
  readonly study: Study;
  readonly claims: readonly JudgedClaim[];
  readonly findings: readonly Finding[];
  /** Runs that the grid spanned by those at hand lacks. */
  readonly missing: readonly At[];
  /** In display order; links in cells are `#anchor` of rows, or `artifact:N` of {@linkcode Sources}. */
  readonly tables: readonly Table[];
}

/**
 * Which artifact each tidy row was read from. A file of its own: the results keep their bits where an
 * artifact changes and its numbers do not.
 */
export interface Sources {
  readonly format: "lockstep-sources/2";
  /** By table: the artifacts of each row, by the columns that they gave. */
  readonly tables: Readonly<
    Record<
      string,
      readonly { readonly columns: readonly string[]; readonly sha256: readonly string[] }[]
    >
  >;
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

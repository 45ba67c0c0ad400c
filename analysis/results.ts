/**
 * The results file: everything that tables, figures and the report show, in one JSON document. Sizes
 * are in shown units.
 *
 * @module
 */
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

/**
 * Names of the rows that the language models' means rest on.
 *
 * @module
 */
import { rowsAnchor } from "../table.ts";

/** The anchor of the table of every run. */
export const EVERY_RUN = "every_run";
/** The anchor of the table of every pair. */
export const EVERY_PAIR = "every_pair";
/** The anchor of the table of every timed run. */
export const EVERY_SPEED = "every_speed";

/** The anchor of a condition's runs, one by one. */
export function runsAnchor(cell: { readonly dataset: string; readonly variant: string }): string {
  return rowsAnchor("runs", cell.dataset, cell.variant);
}

/** Two variants on a text, the second subtracted. */
export interface Contrast {
  readonly dataset: string;
  readonly variant: string;
  readonly against: string;
}

/** The anchor of the pairs of two variants on a text, one by one. */
export function pairsAnchor({ dataset, variant, against }: Contrast): string {
  return rowsAnchor("pairs", dataset, variant, against);
}

/** The anchor of a variant's timed runs. */
export function timedAnchor(variant: string): string {
  return rowsAnchor("timed", variant);
}

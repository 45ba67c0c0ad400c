/**
 * A comparison of two runs as it is shown, in text and on a page.
 *
 * @module
 */
import type { RunDiff } from "../diff.ts";
import type { Side, Standing } from "./sides.ts";
import { shorten } from "../../key/shorten.ts";
import type { Cause } from "./causes.ts";
import type { WordChange } from "./leaves.ts";

/** What became of the words and numbers of one JSON output. */
export interface ValueDiff {
  readonly instance: string;
  readonly output: string;
  readonly words: readonly WordChange[];
  /** How many numbers differ. */
  readonly numbers: number;
}

/** Everything `diff` shows. */
export interface Comparison {
  readonly before: Side;
  readonly now: Side;
  readonly runs: RunDiff;
  readonly values: readonly ValueDiff[];
}

/** How many instances are in each state. */
export interface StateCounts {
  readonly same: number;
  readonly unmoved: number;
  readonly changed: number;
  readonly unstable: number;
  readonly uncompared: number;
  readonly onlyBefore: number;
  readonly onlyNow: number;
}

/** Counts a comparison's instances. */
export function stateCounts({ runs }: Comparison): StateCounts {
  const count = (standing: Standing) => runs.both.filter((one) => one.standing === standing).length;
  return {
    same: count("same"),
    unmoved: count("unmoved"),
    changed: count("changed"),
    unstable: count("unstable"),
    uncompared: count("uncompared"),
    onlyBefore: runs.onlyBefore.length,
    onlyNow: runs.onlyNow.length,
  };
}

/** What a cause is, in a line. */
export function describeCause({ kind, stage, change }: Cause): string {
  switch (kind) {
    case "added":
      return `${stage}: instances only B has`;
    case "removed":
      return `${stage}: instances only A has`;
    case "unstable":
      return `${stage}: another result under the same key`;
    case "ingredient":
      return `${stage}  ${change.ingredient}: ${shorten(change.before)} → ${shorten(change.now)}`;
  }
}

/** A figure with its sign; rounded, because a difference of floats has digits that mean nothing. */
export function signed(difference: number): string {
  const text = String(Number(difference.toPrecision(6)));
  return difference > 0 ? `+${text}` : text;
}

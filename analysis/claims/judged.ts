/**
 * What became of claims.
 *
 * @module
 */
import type { Claim, Comparison } from "../spec/claims.ts";

/** What may become of a claim or of one of its comparisons. */
export const VERDICTS = [
  "reproduced",
  "direction only",
  "equivalent",
  "underpowered",
  "contradicted",
  "not run",
] as const;
export type Verdict = typeof VERDICTS[number];

/** What was measured of one comparison. Sizes are as shown; null where there is none. */
export interface Outcome {
  readonly n: number;
  readonly mean: number | null;
  readonly sd: number | null;
  readonly interval: readonly [number, number] | null;
  readonly bootstrap: readonly [number, number] | null;
  readonly positive: number;
  readonly negative: number;
  /** The test that decides, and the p-values for and against what is claimed, uncorrected. */
  readonly test: string;
  readonly p: number | null;
  readonly against: number | null;
  readonly signedRankP: number | null;
  /** Seeds at which the deciding test, at its corrected level, has a power of 0.9. */
  readonly seedsNeeded: number | null;
}

export interface JudgedComparison {
  readonly comparison: Comparison;
  /** `Rye, oven two: Steamed − Dry`. */
  readonly text: string;
  /** What the paper prints for it, as shown. */
  readonly printed: number | null;
  /** How data and models relate to the paper's, also where they are no evidence; empty if nothing ran. */
  readonly provenance: string;
  readonly asPaper: boolean;
  readonly outcome: Outcome;
  /** What this comparison alone would say. */
  readonly verdict: Verdict;
}

/** Chances of each verdict, from simulated experiments with the seeds at hand. */
export interface Chances {
  /** Of the comparison that has fewest. */
  readonly seeds: number;
  /** Whether all that it claims is printed; what is not is taken to be as large as just matters. */
  readonly isPrinted: boolean;
  /** If the paper is exactly right. */
  readonly printed: Readonly<Partial<Record<Verdict, number>>>;
  /** If nothing has any effect; null of a claim that compares values with no others. */
  readonly none: Readonly<Partial<Record<Verdict, number>>> | null;
}

/** Said where a paper's claim was run on synthetic data alone. */
export const NO_EVIDENCE = "that is no evidence for a paper's claim";

/** Whether a paper's claim was run on synthetic data alone. */
export function isSyntheticAlone({ outcome, provenance }: JudgedComparison): boolean {
  return outcome.n === 0 && provenance !== "";
}

export interface JudgedClaim {
  readonly id: string;
  readonly statement: string;
  readonly source: Claim["source"];
  readonly note: string;
  readonly verdict: Verdict;
  /** Whether the paper's claim holds; null if that is open, as on a sample of its data. */
  readonly holds: boolean | null;
  /** Its p-value, the largest of its comparisons', corrected over the paper's claims; and against it. */
  readonly p: number | null;
  readonly against: number | null;
  readonly comparisons: readonly JudgedComparison[];
  readonly chances: Chances | null;
}

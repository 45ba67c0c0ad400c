/**
 * Judges the paper's claims by paired differences, with the tests that judge the other paper's.
 *
 * @module
 */
import type { Verdict } from "../claims/claim.ts";
import { decide, holds, measure, type Question } from "../claims/verdict.ts";
import { holm } from "../../../analysis/statistics/holm.ts";
import type { Claim, Comparison, JudgedClaim } from "./claim.ts";

/** Differences of one comparison, one for each pair of runs, and what they were taken on. */
export interface Differences {
  readonly values: readonly number[];
  readonly on: string;
  /** Whether texts, models and training were the paper's. */
  readonly asPaper: boolean;
}

/** A claim's verdict is the first of these that one of its comparisons has. */
const WORST_FIRST: readonly Verdict[] = [
  "contradicted",
  "not run",
  "underpowered",
  "equivalent",
  "direction only",
  "reproduced",
];

/**
 * Judges the claims on one metric. Holm's correction runs over all their comparisons that were
 * tested.
 *
 * @param options.differences Finds a comparison's differences.
 */
export function judge(
  claims: readonly Claim[],
  options: {
    readonly alpha: number;
    readonly differences: (comparison: Comparison) => Differences;
  },
): JudgedClaim[] {
  const pending = claims.flatMap((claim) =>
    claim.compare.map((comparison) => {
      const question = questionOf(claim, comparison, options.alpha);
      const found = options.differences(comparison);
      return { claim, comparison, question, found, outcome: measure(found.values, question) };
    })
  );
  const tested = pending.filter((each) => each.outcome.p !== null);
  const adjusted = holm(tested.map((each) => each.outcome.p!));
  const corrected = new Map(tested.map((each, index) => [each, adjusted[index]!]));
  return claims.map((claim) => {
    const own = pending.filter((each) => each.claim === claim);
    const comparisons = own.map((each) => {
      const outcome = { ...each.outcome, holm: corrected.get(each) ?? null };
      const { dataset, run, against, direction, published } = each.comparison;
      return {
        dataset,
        run,
        against,
        direction,
        published: published ?? null,
        on: each.found.on,
        verdict: decide(outcome, each.found.values, each.question),
        ...outcome,
      };
    });
    const found = new Set(comparisons.map((each) => each.verdict));
    const verdict = WORST_FIRST.find((each) => found.has(each)) ?? "not run";
    return {
      id: claim.id,
      statement: claim.statement,
      metric: claim.metric,
      test: claim.test,
      smallest: claim.smallest,
      verdict,
      holds: holds(verdict, {
        test: claim.test,
        asPaper: own.every((each) => each.found.asPaper),
      }),
      note: noteOf(comparisons, claim.metric),
      comparisons,
    };
  });
}

function questionOf(claim: Claim, comparison: Comparison, alpha: number): Question {
  return {
    test: claim.test,
    direction: comparison.direction,
    smallest: claim.smallest,
    tolerance: claim.tolerance,
    published: comparison.published ?? null,
    alpha,
  };
}

function noteOf(comparisons: JudgedClaim["comparisons"], metric: Claim["metric"]): string {
  const idle = comparisons.filter((each) => each.n === 0).length;
  if (idle === comparisons.length) {
    return metric === "loss"
      ? "Its runs were not made on the paper's texts."
      : "No model of the paper's size was timed on its texts.";
  }
  const on = [...new Set(comparisons.map((each) => each.on).filter((text) => text !== ""))];
  const missing = idle > 0 ? [`${idle} of ${comparisons.length} comparisons were not run`] : [];
  return [...on, ...missing].join("; ");
}

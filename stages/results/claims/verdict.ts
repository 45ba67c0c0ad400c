/**
 * From paired differences to a verdict. The same code judges our runs, the paper's own per-seed
 * numbers and simulated runs whose truth is known.
 *
 * @module
 */
import { bootstrapInterval } from "../../../analysis/statistics/bootstrap.ts";
import { equivalenceTest, pairedTTest } from "../../../analysis/statistics/paired_t.ts";
import { seedsNeeded } from "../../../analysis/statistics/power.ts";
import { signedRankTest, signTest } from "../../../analysis/statistics/rank_tests.ts";
import { summarize } from "../../../analysis/statistics/sample.ts";
import type { Claim, Outcome, Verdict } from "./claim.ts";

/** What a claim says of one difference; sizes in the unit of the differences. */
export interface Question {
  readonly test: Claim["test"];
  readonly direction: "greater" | "less";
  readonly smallest: number;
  readonly tolerance: number;
  readonly published: number | null;
  /** Significance level of every decision. */
  readonly alpha: number;
}

/**
 * Takes all tests of one comparison; `holm` is still missing, since it needs every comparison.
 *
 * @param differences One per seed.
 */
export function measure(differences: readonly number[], question: Question): Outcome {
  const positive = differences.filter((value) => value > 0).length;
  const negative = differences.filter((value) => value < 0).length;
  const base = {
    n: differences.length,
    positive,
    negative,
    test: TEST_NAMES[question.test],
    holm: null,
  };
  if (differences.length === 0) {
    return {
      ...base,
      mean: null,
      sd: null,
      interval: null,
      bootstrap: null,
      p: null,
      signedRankP: null,
      equivalenceP: null,
      seedsNeeded: null,
    };
  }
  const { mean, sd, interval } = summarize(differences, 1 - question.alpha);
  const bootstrap = bootstrapInterval(differences, { confidence: 1 - question.alpha });
  const equivalence = equivalenceTest(differences, {
    bounds: [-question.smallest, question.smallest],
    alpha: question.alpha,
  });
  return {
    ...base,
    mean,
    sd,
    interval: interval && [interval[0], interval[1]],
    bootstrap: bootstrap && [bootstrap[0], bootstrap[1]],
    p: decidingP(differences, question, equivalence?.p ?? null),
    signedRankP: signedRankTest(differences).p,
    equivalenceP: equivalence?.p ?? null,
    seedsNeeded: seedsFor(sd, question),
  };
}

/**
 * Decides one comparison.
 *
 * A claimed difference is *reproduced* if its corrected p-value is below α, its sign is the claimed
 * one and its mean is within the tolerance of the published one; *direction only* if just the last
 * fails; *contradicted* if the sign is the opposite, or if every difference of interest in the
 * claimed direction is ruled out while some in the other is not; *equivalent* if every difference
 * of interest is ruled out in both directions; *underpowered* otherwise.
 *
 * A claimed equivalence is *equivalent* if two one-sided tests show it, *contradicted* if the mean
 * is shown to lie beyond the smallest effect of interest, *underpowered* otherwise.
 *
 * A claim of "no worse" is *reproduced* if a one-sided test shows the mean above the margin,
 * *contradicted* if below it.
 *
 * A claim about every seed is *contradicted* by one seed, *reproduced* if all have the sign and
 * that is unlikely by chance, *underpowered* if they are too few for that.
 *
 * Fewer than two differences, or differences that are all equal, are *underpowered*.
 *
 * @param outcome With `holm` filled in.
 */
export function decide(
  outcome: Outcome,
  differences: readonly number[],
  question: Question,
): Verdict {
  const { mean, n } = outcome;
  if (n === 0 || mean === null) return "not run";
  const toward = question.direction === "greater" ? 1 : -1;
  if (question.test === "sign") {
    if ((toward > 0 ? outcome.positive : outcome.negative) < n) return "contradicted";
    return below(outcome.holm, question) ? "reproduced" : "underpowered";
  }
  if (outcome.p === null) return "underpowered";
  const beyond = (margin: number, alternative: "greater" | "less") =>
    pairedTTest(differences, { alternative, against: margin })!.p < question.alpha;
  if (question.test === "equivalence") {
    if (below(outcome.holm, question)) return "equivalent";
    const outside = beyond(question.smallest, "greater") || beyond(-question.smallest, "less");
    return outside ? "contradicted" : "underpowered";
  }
  if (question.test === "noninferiority") {
    if (below(outcome.holm, question)) return "reproduced";
    const worse = toward > 0 ? "less" : "greater";
    return beyond(-toward * question.smallest, worse) ? "contradicted" : "underpowered";
  }
  if (below(outcome.holm, question)) {
    if (mean * toward < 0) return "contradicted";
    const near = question.published === null ||
      Math.abs(mean - question.published) <= question.tolerance;
    return near ? "reproduced" : "direction only";
  }
  if (below(outcome.equivalenceP, question)) return "equivalent";
  const ruledOut = beyond(toward * question.smallest, toward > 0 ? "less" : "greater");
  return ruledOut ? "contradicted" : "underpowered";
}

/**
 * Whether a verdict on a claim of this kind says that the claim holds; null if it is open.
 *
 * @param options.asPaper Whether all that was compared ran as in the paper. What ran on a sample or
 * with a smaller model has a verdict, but neither upholds the paper's claim nor refutes it.
 */
export function holds(
  verdict: Verdict,
  { test, asPaper }: { test: Claim["test"]; asPaper: boolean },
): boolean | null {
  if (!asPaper) return null;
  switch (verdict) {
    case "reproduced":
    case "direction only":
      return true;
    case "equivalent":
      return test === "equivalence";
    case "contradicted":
      return false;
    case "underpowered":
    case "not run":
      return null;
  }
}

const TEST_NAMES = {
  difference: "paired t",
  sign: "exact sign test",
  equivalence: "two one-sided t tests",
  noninferiority: "one-sided t against the margin",
} as const;

/** The test that shows a mean no worse than the margin allows. */
function notWorse(question: Question): { alternative: "greater" | "less"; against: number } {
  return question.direction === "greater"
    ? { alternative: "greater", against: -question.smallest }
    : { alternative: "less", against: question.smallest };
}

function below(p: number | null, question: Question): boolean {
  return p !== null && p < question.alpha;
}

function decidingP(
  differences: readonly number[],
  question: Question,
  equivalenceP: number | null,
): number | null {
  switch (question.test) {
    case "difference":
      return pairedTTest(differences)?.p ?? null;
    case "sign":
      return signTest(differences, question.direction).p;
    case "equivalence":
      return equivalenceP;
    case "noninferiority":
      return pairedTTest(differences, notWorse(question))?.p ?? null;
  }
}

/** Of the published effect, or of the smallest of interest where none was published. */
function seedsFor(sd: number | null, question: Question): number | null {
  if (sd === null || sd === 0 || question.test !== "difference") return null;
  const effect = question.published ?? question.smallest;
  if (effect === 0) return null;
  return seedsNeeded({ effect, sd, alpha: question.alpha });
}

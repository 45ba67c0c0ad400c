/**
 * The tests of one comparison. The same code judges runs and simulated runs whose truth is known.
 *
 * @module
 */
import { signTest, tTest } from "../statistics/hypothesis_tests.ts";
import { type Moments, moments } from "../statistics/sample.ts";
import type { Bounds, Question } from "./question.ts";

/** What a sample says of a question; p-values are uncorrected, null where there is no test. */
export interface Evidence {
  readonly n: number;
  /** For what is claimed, and against it. */
  readonly for: number | null;
  readonly against: number | null;
  /** For a difference that does not matter, where the paper's own does not. */
  readonly same: number | null;
  /** Whether the size, and of a claim about every seed every sign, are as claimed. */
  readonly near: boolean;
}

/** Takes the tests that a question asks for. @param sample A value for each seed. */
export function evidenceOf(sample: readonly number[], question: Question): Evidence {
  const n = sample.length;
  if (n === 0) return { n, for: null, against: null, same: null, near: false };
  const known = { sample, ...moments(sample) };
  const near = known.mean >= question.near[0] && known.mean <= question.near[1];
  if (question.test === "sign") return signs(sample, { question, near });
  return {
    n,
    for: within(known, question.claimed),
    against: outside(known, question.kept),
    same: question.same && within(known, question.same),
    near,
  };
}

/** One sign alone says nothing, and ties have none. */
function signs(
  sample: readonly number[],
  { question: { toward }, near }: { readonly question: Question; readonly near: boolean },
): Evidence {
  const [claimed, opposite] = toward > 0
    ? ["greater", "less"] as const
    : ["less", "greater"] as const;
  const usable = sample.filter((value) => value !== 0).length > 1;
  return {
    n: sample.length,
    for: usable ? signTest(sample, claimed) : null,
    against: usable ? signTest(sample, opposite) : null,
    same: null,
    near: near && sample.every((value) => value * toward > 0),
  };
}

type Known = Moments & { readonly sample: readonly number[] };

/** That the mean lies within bounds: both one-sided tests must say so (Schuirmann 1987). */
function within(known: Known, [low, high]: Bounds): number | null {
  const above = low === -Infinity ? 0 : oneSided(known, "greater", low);
  const below = high === Infinity ? 0 : oneSided(known, "less", high);
  return above === null || below === null ? null : Math.max(above, below);
}

/** That the mean lies outside: either one-sided test may say so, which doubles its p-value. */
function outside(known: Known, [low, high]: Bounds): number | null {
  const below = low === -Infinity ? 1 : oneSided(known, "less", low);
  const above = high === Infinity ? 1 : oneSided(known, "greater", high);
  if (below === null || above === null) return null;
  const sides = low === -Infinity || high === Infinity ? 1 : 2;
  return Math.min(1, sides * Math.min(below, above));
}

/**
 * Student's one-sided test against a bound. Values that are all equal have no spread to judge by: the
 * exact sign test against the bound takes its place, 2⁻ⁿ at best; values all at the bound have none.
 */
function oneSided(
  { sample, ...known }: Known,
  alternative: "greater" | "less",
  bound: number,
): number | null {
  if (known.n < 2) return null;
  const from = sample.map((value) => value - bound);
  return tTest(known, { alternative, against: bound }) ??
    (from[0] === 0 ? null : signTest(from, alternative));
}

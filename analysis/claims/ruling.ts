/**
 * From p-values to verdicts, corrected over a family of claims.
 *
 * @module
 */
import type { Claim } from "../spec/claims.ts";
import { holm } from "../statistics/holm.ts";
import type { Evidence } from "./evidence.ts";
import type { Verdict } from "./judged.ts";

/** What became of a claim; p-values are corrected, null where a comparison has none. */
export interface Ruling {
  readonly verdict: Verdict;
  readonly p: number | null;
  readonly against: number | null;
}

/**
 * Judges a family of claims at once, each by the evidence of its comparisons.
 *
 * All comparisons must hold for a claim to hold, so its p-value is their largest (an
 * intersection–union test); one suffices against it, so that p-value is their smallest, times their
 * number. Both are corrected over the family by Holm's method, each on its own.
 *
 * @param options.family Claims of the family in all, with those that are judged elsewhere.
 */
export function ruleOn(
  claims: readonly (readonly Evidence[])[],
  options: { readonly alpha: number; readonly family: number },
): Ruling[] {
  const { alpha, family } = options;
  const all = corrected(claims.map((claim) => largest(claim.map((each) => each.for))), family);
  const same = corrected(claims.map((claim) => largest(claim.map((each) => each.same))), family);
  const against = corrected(
    claims.map((claim) => {
      const known = claim.map((each) => each.against).filter((p) => p !== null);
      return known.length === 0 ? null : Math.min(1, Math.min(...known) * claim.length);
    }),
    family,
  );
  const below = (p: number | null | undefined) => typeof p === "number" && p < alpha;
  const verdictOf = (claim: readonly Evidence[], index: number): Verdict => {
    if (below(all[index])) {
      return claim.every(({ near }) => near) ? "reproduced" : "direction only";
    }
    if (below(against[index])) return "contradicted";
    if (below(same[index])) return "equivalent";
    return claim.some(({ n }) => n === 0) ? "not run" : "underpowered";
  };
  return claims.map((claim, index) => ({
    verdict: verdictOf(claim, index),
    p: all[index]!,
    against: against[index]!,
  }));
}

/**
 * Judges claims as two families, the paper's and our own, each corrected on its own.
 *
 * @param evidence By claim; of none nothing is known, and it counts in its family.
 * @param options.elsewhere Claims of the paper that are judged elsewhere.
 */
export function ruleOnAll(
  claims: readonly Claim[],
  evidence: readonly (readonly Evidence[])[],
  { alpha, elsewhere }: { readonly alpha: number; readonly elsewhere?: number | undefined },
): Ruling[] {
  const rulings: Ruling[] = [];
  for (const source of ["paper", "own"] as const) {
    const own = [...claims.keys()].filter((index) => claims[index]!.source === source);
    const family = familyOf(claims, source, elsewhere);
    const found = ruleOn(own.map((index) => evidence[index]!), { alpha, family });
    own.forEach((index, at) => rulings[index] = found[at]!);
  }
  return rulings;
}

/** The largest; null if one is missing, or there is none. */
function largest(pValues: readonly (number | null)[]): number | null {
  const known = pValues.filter((p) => p !== null);
  return known.length < pValues.length || known.length === 0 ? null : Math.max(...known);
}

/** Corrects those that there are. */
function corrected(pValues: readonly (number | null)[], family: number): (number | null)[] {
  const known = pValues.filter((p) => p !== null);
  const adjusted = holm(known, { family }).values();
  return pValues.map((p) => p === null ? null : adjusted.next().value!);
}

/** Claims over which p-values of a source are corrected: the paper's with those judged elsewhere. */
export function familyOf(
  claims: readonly Claim[],
  source: Claim["source"],
  elsewhere = 0,
): number {
  const own = claims.filter((claim) => claim.source === source).length;
  return own + (source === "paper" ? elsewhere : 0);
}

/**
 * How many seeds a claim needs before it can be decided.
 *
 * @module
 */
import type { Claim } from "../spec/claims.ts";
import { equivalencePower, fewestSeeds, signPower } from "../statistics/power.ts";
import { alphaOf } from "../statistics/sample.ts";
import { askedBy, type Prints } from "./expected.ts";
import type { Bounds, Question } from "./question.ts";

/** The power that seeds are counted for. */
export const POWER = 0.9;

/** A spread over seeds, and the level at which a claim is decided where it fares worst. */
export interface Setting {
  readonly sd: number | null;
  readonly alpha: number;
}

/** Seeds at which a comparison's deciding test has a power of 0.9 if the paper is exactly right. */
export function seedsFor(question: Question, { sd, alpha }: Setting): number | null {
  if (!sd || !decidable(question, question.claimed)) return null;
  return fewestSeeds((n) => powerOf(question, { sd, alpha, bounds: question.claimed }, n), {
    power: POWER,
  });
}

/**
 * Seeds at which each claim's power reaches 0.9 if the paper is exactly right: the chance that all of
 * its comparisons are shown, at least, at the level that decides where a claim fares worst.
 *
 * @returns `null` for a claim that no number of seeds up to 1,000 decides: nothing says how large or
 * how variable its effect is, or the paper's own numbers contradict it, or are too close to it.
 */
export function decisiveSeeds(
  claims: readonly Claim[],
  options: Prints & { readonly confidence: number; readonly elsewhere?: number },
): { readonly id: string; readonly seeds: number | null }[] {
  return claims.map((claim) => {
    const alpha = alphaOf(options.confidence) / familyOf(claims, claim.source, options.elsewhere);
    const asked = askedBy(claim, options);
    const seedsOf = (boundsOf: (question: Question) => Bounds | null) => {
      const parts = asked.map(({ question, sd }) => ({ question, sd, bounds: boundsOf(question) }));
      if (parts.some(({ question, sd, bounds }) => !sd || !decidable(question, bounds))) {
        return null;
      }
      const missed = (n: number) =>
        parts.reduce(
          (total, { question, sd, bounds }) =>
            total + 1 - powerOf(question, { sd: sd!, alpha, bounds: bounds! }, n),
          0,
        );
      return fewestSeeds((n) => 1 - missed(n), { power: POWER });
    };
    const found = [seedsOf(({ claimed }) => claimed), seedsOf(({ same }) => same)]
      .filter((seeds) => seeds !== null);
    return { id: claim.id, seeds: found.length === 0 ? null : Math.min(...found) };
  });
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

/** Whether the effect that is expected lies strictly within. */
function decidable({ effect }: Question, bounds: Bounds | null): boolean {
  return bounds !== null && effect !== null && effect > bounds[0] && effect < bounds[1];
}

function powerOf(
  { test, toward, effect }: Question,
  { sd, alpha, bounds }: { readonly sd: number; readonly alpha: number; readonly bounds: Bounds },
  n: number,
): number {
  return test === "sign"
    ? signPower({ effect: toward * effect!, sd, alpha }, n)
    : equivalencePower({ effect: effect!, sd, alpha, bounds }, n);
}

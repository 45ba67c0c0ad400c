/**
 * How many seeds a comparison needs before it can be decided.
 *
 * @module
 */
import { equivalencePower, fewestSeeds, signPower } from "../statistics/power.ts";
import type { Question } from "./question.ts";

/** The power that seeds are counted for. */
const POWER = 0.9;

/**
 * Seeds at which a comparison's deciding test has a power of 0.9 if the paper is exactly right.
 *
 * @param options.sd Spread over seeds.
 * @param options.alpha The level at which its claim is decided where it fares worst.
 * @returns `null` where no number of seeds up to 1,000 decides: nothing says how large or how variable
 *   the effect is, or it is not as claimed, or too close to what is not.
 */
export function seedsFor(
  { test, toward, effect, claimed }: Question,
  { sd, alpha }: { readonly sd: number | null; readonly alpha: number },
): number | null {
  if (!sd || effect === null || effect <= claimed[0] || effect >= claimed[1]) return null;
  const powerOf = (n: number) =>
    test === "sign"
      ? signPower({ effect: toward * effect, sd, alpha }, n)
      : equivalencePower({ effect, sd, alpha, bounds: claimed }, n);
  return fewestSeeds(powerOf, { power: POWER });
}

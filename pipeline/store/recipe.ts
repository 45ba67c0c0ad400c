/**
 * Recipes: what instances with measured outputs are made from, as far as it is the same each time. Their keys
 * hold the machine and the digests of what was measured before them, so that a lock can't have them.
 *
 * @module
 */
import { canonicalJson } from "../key/canonical.ts";
import { isSha256, type Sha256, sha256 } from "../key/hash.ts";
import type { Ingredients } from "../key/ingredients.ts";
import type { Trace } from "./trace.ts";

/** Says of a trace what its recipe is; `undefined` if none of its outputs is measured. */
export type Recipes = (trace: Trace) => Sha256 | undefined;

/**
 * The recipes of a run: the digest of an instance's ingredients without the machine, and with the name of
 * what made it, `measured, results of timings`, in place of the digest of an input that was measured.
 */
export function recipesOf(traces: ReadonlyMap<string, Trace>): Recipes {
  const makers = new Map<string, Set<string>>();
  const held = new Set<string>();
  for (const [instance, { outputs }] of traces) {
    for (const [output, { sha256, exactness }] of Object.entries(outputs)) {
      // A lock has its digest.
      if (exactness !== "measured") held.add(sha256);
      const known = makers.get(sha256) ?? new Set();
      makers.set(sha256, known.add(`${output} of ${instance.split("/")[0]}`));
    }
  }
  return (trace) => {
    if (!Object.values(trace.outputs).some(({ exactness }) => exactness === "measured")) {
      return undefined;
    }
    const stable = Object.entries(trace.ingredients).flatMap(([name, value]) => {
      if (name === "machine") return [];
      if (!name.startsWith("inputs.") || !isSha256(value) || held.has(value)) {
        return [[name, value]];
      }
      // Of what is gathered, the label in the ingredient's name says what it is.
      const from = name.endsWith("]") ? [] : [...makers.get(value) ?? []].sort();
      return [[name, ["measured", ...from].join(", ")]];
    });
    return digestOf(Object.fromEntries(stable));
  };
}

function digestOf(ingredients: Ingredients): Sha256 {
  return sha256(`lockstep/recipe/1\n${canonicalJson(ingredients)}`);
}

/**
 * Operating characteristics of claims: the chances of each verdict, from simulated experiments that
 * the same code judges as judges the real one.
 *
 * @module
 */
import type { Claim } from "../spec/claims.ts";
import { drawNormals } from "../statistics/draws.ts";
import { alphaOf } from "../statistics/sample.ts";
import { evidenceOf } from "./evidence.ts";
import { type Asked, askedBy, type Prints } from "./expected.ts";
import type { Chances, Verdict } from "./judged.ts";
import { ruleOn } from "./ruling.ts";
import { familyOf } from "./seeds.ts";

/** A comparison's true mean on the scale that is tested; null if it is not known. */
export type World = (asked: Asked) => number | null;

/** The paper is exactly right. */
export const AS_PRINTED: World = ({ question }) => question.effect;

/** Conditions that are compared are equal; what is compared with none is as printed. */
export const NO_EFFECT: World = ({ comparison, question }) =>
  comparison.against === null ? question.effect : 0;

/** How experiments are simulated. */
export interface Simulation {
  /** Seeds of each experiment. */
  readonly seeds: number;
  readonly confidence: number;
  /** Claims of the paper that are judged elsewhere. */
  readonly elsewhere?: number;
  /** How many are simulated; 2,000 if left out. */
  readonly experiments?: number;
}

/**
 * Verdicts of simulated experiments, a list for each claim; null for a claim of whose effects or
 * spreads nothing is known.
 *
 * Every condition's values are drawn from a normal distribution with the spread that is expected of
 * it, once for all claims that share it.
 */
export function simulate(
  claims: readonly Claim[],
  options: Prints & Simulation & { readonly world: World },
): (Verdict[] | null)[] {
  const { seeds, experiments = 2000 } = options;
  const alpha = alphaOf(options.confidence);
  const models = claims.map((claim) => {
    const asked = askedBy(claim, options).map((each) => ({ ...each, truth: options.world(each) }));
    const known = asked.every(({ sd, truth }) => sd !== null && truth !== null);
    return { source: claim.source, asked, verdicts: known ? [] as Verdict[] : null };
  });
  const simulated = models.filter(({ verdicts }) => verdicts !== null);
  const draws = drawConditions(simulated.flatMap(({ asked }) => asked), seeds * experiments);
  for (const source of ["paper", "own"] as const) {
    const own = simulated.filter((model) => model.source === source);
    const family = familyOf(claims, source, options.elsewhere);
    for (let experiment = 0; experiment < experiments; experiment++) {
      const evidence = own.map(({ asked }) =>
        asked.map(({ terms, truth, question }) => {
          const sample = new Array<number>(seeds).fill(truth!);
          for (const { key, scale } of terms) {
            const drawn = draws.get(key)!;
            for (let i = 0; i < seeds; i++) sample[i]! += scale * drawn[experiment * seeds + i]!;
          }
          return evidenceOf(sample, question);
        })
      );
      ruleOn(evidence, { alpha, family }).forEach(({ verdict }, index) =>
        own[index]!.verdicts!.push(verdict)
      );
    }
  }
  return models.map(({ verdicts }) => verdicts);
}

/** Standard normal numbers of every condition. */
function drawConditions(asked: readonly Asked[], count: number): Map<string, Float64Array> {
  const keys = new Set(asked.flatMap(({ terms }) => terms.map(({ key }) => key)));
  return new Map([...keys].map((key, stream) => [key, drawNormals(count, { seed: 1, stream })]));
}

/** Each claim's chances of each verdict, by the paper's printed numbers alone. */
export function chancesOf(
  claims: readonly Claim[],
  options: Prints & Simulation,
): (Chances | null)[] {
  const printed = simulate(claims, { ...options, world: AS_PRINTED });
  const none = simulate(claims, { ...options, world: NO_EFFECT });
  return claims.map((_, index) => {
    const [right, without] = [printed[index]!, none[index]!];
    if (right === null || without === null) return null;
    return { seeds: options.seeds, printed: shares(right), none: shares(without) };
  });
}

function shares(verdicts: readonly Verdict[]): Chances["printed"] {
  const groups = Map.groupBy(verdicts, (verdict) => verdict);
  return Object.fromEntries(
    [...groups].sort(([a], [b]) => a < b ? -1 : 1).map((
      [verdict, own],
    ) => [verdict, own.length / verdicts.length]),
  );
}

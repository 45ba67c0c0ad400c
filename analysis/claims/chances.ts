/**
 * Operating characteristics of claims: the chances of each verdict, from simulated experiments that
 * the same code judges as judges the real one.
 *
 * @module
 */
import { normal, streamKey } from "../../models/random.ts";
import type { Claim } from "../spec/claims.ts";
import { alphaOf } from "../statistics/sample.ts";
import { evidenceOf } from "./evidence.ts";
import { type Asked, askedBy, type Prints } from "./expected.ts";
import type { Chances, Verdict } from "./judged.ts";
import { ruleOnAll } from "./ruling.ts";

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
  /** Which of them, counted from 0, have all runs of a comparison; every one if left out. */
  readonly seedsOf?: SeedsOf;
  readonly confidence: number;
  /** Claims of the paper that are judged elsewhere. */
  readonly elsewhere?: number;
  /** How many are simulated; 2,000 if left out. */
  readonly experiments?: number;
}

/** The seeds of a comparison, by the claim's index and its own. */
export type SeedsOf = (claim: number, comparison: number) => readonly number[];

/**
 * Simulates experiments: given a world, their verdicts as a list for each claim, null for a claim of
 * whose effects or spreads nothing is known. All worlds have the same draws.
 *
 * Every condition's values are drawn from a normal distribution with the spread that is expected of
 * it, once for all claims that share it.
 */
export function simulator(
  claims: readonly Claim[],
  options: Prints & Simulation,
): (world: World) => (Verdict[] | null)[] {
  const { seeds, experiments = 2000, elsewhere } = options;
  const seedsOf = seedsIn(options);
  const alpha = alphaOf(options.confidence);
  const all = claims.map((claim) => askedBy(claim, options));
  const draws = drawConditions(all.flat(), seeds * experiments);
  return (world) => {
    const found = all.map((asked, claim): readonly Drawn[] | null => {
      const drawn = asked.map((each, comparison) => ({
        question: each.question,
        truth: world(each),
        seeds: seedsOf(claim, comparison),
        terms: each.terms.map(({ key, scale }) => ({ scale, drawn: draws.get(key)! })),
      }));
      const isKnown = drawn.every(({ truth, terms }) => truth !== null && terms.length > 0);
      return isKnown ? drawn : null;
    });
    const verdicts = found.map((own): Verdict[] | null => own && []);
    for (let start = 0; start < experiments * seeds; start += seeds) {
      const evidence = found.map((own) =>
        (own ?? []).map((each) => evidenceOf(sampleOf(each, start), each.question))
      );
      const rulings = ruleOnAll(claims, evidence, { alpha, elsewhere });
      rulings.forEach(({ verdict }, index) => verdicts[index]?.push(verdict));
    }
    return verdicts;
  };
}

/** A comparison with its true mean and the numbers that its changes are drawn from. */
interface Drawn {
  readonly question: Asked["question"];
  readonly truth: number | null;
  readonly seeds: readonly number[];
  readonly terms: readonly { readonly scale: number; readonly drawn: Float32Array }[];
}

function sampleOf({ truth, seeds, terms }: Drawn, start: number): number[] {
  const sample = new Array<number>(seeds.length).fill(truth!);
  for (const { scale, drawn } of terms) {
    for (let i = 0; i < sample.length; i++) sample[i]! += scale * drawn[start + seeds[i]!]!;
  }
  return sample;
}

function seedsIn({ seeds, seedsOf }: Simulation): SeedsOf {
  const every = Array.from({ length: seeds }, (_, seed) => seed);
  return seedsOf ?? (() => every);
}

/** Standard normal numbers of every condition. */
function drawConditions(asked: readonly Asked[], count: number): Map<string, Float32Array> {
  const keys = new Set(asked.flatMap(({ terms }) => terms.map(({ key }) => key)));
  return new Map([...keys].map((key) => [key, normal(streamKey(0, `chances/${key}`), count)]));
}

/**
 * Each claim's chances of each verdict, by the paper's printed numbers alone: null for a claim of which too
 * little is known, or some of whose runs no seed has.
 */
export function chancesOf(
  claims: readonly Claim[],
  options: Prints & Simulation,
): (Chances | null)[] {
  const simulate = simulator(claims, options);
  const [printed, none] = [simulate(AS_PRINTED), simulate(NO_EFFECT)];
  const seedsOf = seedsIn(options);
  return claims.map((claim, index) => {
    const [right, without] = [printed[index]!, none[index]!];
    const seeds = Math.min(...claim.compare.map((_, each) => seedsOf(index, each).length));
    if (right === null || without === null || seeds === 0) return null;
    const asked = askedBy(claim, options);
    return {
      seeds,
      isPrinted: asked.every(({ printed }) => printed !== null),
      printed: shares(right),
      none: asked.some(({ comparison }) => comparison.against !== null) ? shares(without) : null,
    };
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

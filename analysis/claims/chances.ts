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
import { type Asked, askedBy, comparisonsOf, type Prints } from "./expected.ts";
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
  readonly confidence: number;
  /** Claims of the paper that are judged elsewhere. */
  readonly elsewhere?: number;
  /** How many are simulated; 2,000 if left out. */
  readonly experiments?: number;
}

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
  const alpha = alphaOf(options.confidence);
  const all = claims.map((claim) => askedBy(claim, options));
  const draws = drawConditions(all.flat(), seeds * experiments);
  return (world) => {
    const found = all.map((asked): readonly Drawn[] | null => {
      const drawn = asked.map((each) => ({
        question: each.question,
        truth: world(each),
        terms: each.terms.map(({ key, scale }) => ({ scale, drawn: draws.get(key)! })),
      }));
      const isKnown = drawn.every(({ truth, terms }) => truth !== null && terms.length > 0);
      return isKnown ? drawn : null;
    });
    const verdicts = found.map((own): Verdict[] | null => own && []);
    for (let start = 0; start < experiments * seeds; start += seeds) {
      const evidence = found.map((own) =>
        (own ?? []).map((each) => evidenceOf(sampleOf(each, { start, seeds }), each.question))
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
  readonly terms: readonly { readonly scale: number; readonly drawn: Float32Array }[];
}

function sampleOf(
  { truth, terms }: Drawn,
  { start, seeds }: { readonly start: number; readonly seeds: number },
): number[] {
  const sample = new Array<number>(seeds).fill(truth!);
  for (const { scale, drawn } of terms) {
    for (let i = 0; i < seeds; i++) sample[i]! += scale * drawn[start + i]!;
  }
  return sample;
}

/** Standard normal numbers of every condition. */
function drawConditions(asked: readonly Asked[], count: number): Map<string, Float32Array> {
  const keys = new Set(asked.flatMap(({ terms }) => terms.map(({ key }) => key)));
  return new Map([...keys].map((key) => [key, normal(streamKey(0, `chances/${key}`), count)]));
}

/** Each claim's chances of each verdict, by the paper's printed numbers alone. */
export function chancesOf(
  claims: readonly Claim[],
  options: Prints & Simulation,
): (Chances | null)[] {
  const simulate = simulator(claims, options);
  const [printed, none] = [simulate(AS_PRINTED), simulate(NO_EFFECT)];
  return claims.map((claim, index) => {
    const [right, without] = [printed[index]!, none[index]!];
    if (right === null || without === null) return null;
    const compares = comparisonsOf(claim).some(({ against }) => against !== null);
    const { seeds } = options;
    return { seeds, printed: shares(right), none: compares ? shares(without) : null };
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

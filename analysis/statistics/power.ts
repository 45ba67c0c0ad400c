/**
 * How likely a paired t test is to find an effect, and how many seeds it takes.
 *
 * @module
 */
import { exp } from "../../models/portable_math.ts";
import { incompleteBeta } from "./incomplete_beta.ts";
import { normalTail } from "./normal.ts";
import { studentTQuantile } from "./student_t.ts";

const ROOT_TWO_OVER_PI = 0.7978845608028654;
/** Beyond this noncentrality exp(−δ²/2) underflows; a test has found the effect long before. */
const CERTAIN = 37;

/**
 * P(T ≤ t) of the noncentral t distribution with noncentrality `delta`.
 *
 * Lenth 1989 (AS 243): Φ(−δ) + ½ Σⱼ [pⱼ I_x(j+½, ν/2) + qⱼ I_x(j+1, ν/2)], x = t²/(t²+ν).
 * Absolute error below 1e-12 for |delta| ≤ 37.
 *
 * @throws {RangeError} If |delta| is greater than 37.
 */
function noncentralT(
  t: number,
  options: { readonly df: number; readonly delta: number },
): number {
  const { df, delta } = options;
  if (!(Math.abs(delta) <= CERTAIN)) {
    throw new RangeError(`noncentralT: |delta| must be at most ${CERTAIN}, got ${delta}`);
  }
  if (t < 0) return 1 - noncentralT(-t, { df, delta: -delta });
  const x = t * t / (t * t + df);
  const complement = df / (t * t + df);
  const half = delta * delta / 2;
  let total = normalTail(delta);
  // pⱼ = e^(−δ²/2) (δ²/2)^j / j!, qⱼ = δ e^(−δ²/2) (δ²/2)^j / (√2 Γ(j+3/2)), both by recurrence.
  let p = exp(-half);
  let q = p * delta * ROOT_TWO_OVER_PI;
  for (let j = 0; j < 5000; j++) {
    total += 0.5 * p * incompleteBeta(x, complement, { p: 2 * j + 1, q: df });
    total += 0.5 * q * incompleteBeta(x, complement, { p: 2 * j + 2, q: df });
    p *= half / (j + 1);
    q *= half / (j + 1.5);
    // Past its mode the Poisson weight falls faster than geometrically.
    if (j > half && p < 1e-18) break;
  }
  return Math.min(1, Math.max(0, total));
}

/** A one-sided test to be planned. */
export interface Plan {
  /** True mean difference, positive if it is as claimed. */
  readonly effect: number;
  /** Standard deviation of the paired differences. */
  readonly sd: number;
  readonly alpha: number;
}

/**
 * Probability that a one-sided paired t test over `n` seeds finds `plan.effect` at `plan.alpha`.
 *
 * @throws {RangeError} If `n` is not a whole number from 2 up or `sd` is not positive.
 */
export function tTestPower({ effect, sd, alpha }: Plan, n: number): number {
  if (!Number.isInteger(n) || n < 2) {
    throw new RangeError(`tTestPower: n must be a whole number from 2 up, got ${n}`);
  }
  if (!(sd > 0)) throw new RangeError(`tTestPower: sd must be positive, got ${sd}`);
  const delta = effect / sd * Math.sqrt(n);
  const df = n - 1;
  if (Math.abs(delta) > CERTAIN) return delta > 0 ? 1 : 0;
  return 1 - noncentralT(studentTQuantile(1 - alpha, df), { df, delta });
}

/**
 * Probability that two one-sided t tests over `n` seeds show a mean within `bounds`, at least: one
 * less what each of the two may miss. Where the power is large it is that to all digits shown.
 */
export function equivalencePower(
  { effect, sd, alpha, bounds: [low, high] }: Plan & { readonly bounds: readonly [number, number] },
  n: number,
): number {
  const above = low === -Infinity ? 1 : tTestPower({ sd, alpha, effect: effect - low }, n);
  const below = high === Infinity ? 1 : tTestPower({ sd, alpha, effect: high - effect }, n);
  return Math.max(0, above + below - 1);
}

/** Probability that an exact one-sided sign test over `n` seeds shows a positive effect. */
export function signPower({ effect, sd, alpha }: Plan, n: number): number {
  const positive = normalTail(-effect / sd);
  const chances = binomial(n, 0.5);
  const truth = binomial(n, positive);
  let tail = 0;
  let power = 0;
  for (let count = n; count >= 0; count--) {
    tail += chances[count]!;
    if (tail >= alpha) break;
    power += truth[count]!;
  }
  return power;
}

/** Probabilities of 0 to n successes. */
function binomial(n: number, p: number): Float64Array {
  const chances = new Float64Array(n + 1);
  chances[0] = 1;
  for (let trial = 1; trial <= n; trial++) {
    for (let count = trial; count >= 0; count--) {
      chances[count] = chances[count]! * (1 - p) + (count > 0 ? chances[count - 1]! * p : 0);
    }
  }
  return chances;
}

/**
 * The fewest seeds from 2 up at which a power that grows with them reaches `power`.
 *
 * @returns `null` if `max` seeds are too few.
 */
export function fewestSeeds(
  powerOf: (n: number) => number,
  { power, max = 1000 }: { readonly power: number; readonly max?: number },
): number | null {
  // Power grows with n: double, then bisect.
  let tooFew = 1;
  let enough = 2;
  while (powerOf(enough) < power) {
    if (enough === max) return null;
    tooFew = enough;
    enough = Math.min(2 * enough, max);
  }
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (powerOf(middle) >= power) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

/**
 * The standard normal distribution from portable operations.
 *
 * @module
 */
import { exp, INVERSE_ROOT_TWO_PI } from "../../models/portable_math.ts";

/**
 * Upper tail P(Z > z) of the standard normal distribution, accurate in the far tail too.
 *
 * ½ − φ(z)·(z + z³/3 + z⁵/15 + …) near zero (Abramowitz & Stegun 26.2.11), Laplace's continued
 * fraction of Mills' ratio beyond (26.2.14).
 */
export function normalTail(z: number): number {
  if (z < 0) return 1 - normalTail(-z);
  const density = INVERSE_ROOT_TWO_PI * exp(-z * z / 2);
  if (z < 2) {
    let term = z;
    let total = z;
    for (let k = 3; term > total * 1e-18; k += 2) {
      term *= z * z / k;
      total += term;
    }
    return 0.5 - density * total;
  }
  let fraction = z;
  for (let k = 200; k >= 1; k--) fraction = z + k / fraction;
  return density / fraction;
}

/**
 * Random numbers of bootstraps and simulations: counter-based, so that a seed fixes them on every
 * machine.
 *
 * @module
 */
import { cosTurns, ln, sinTurns } from "../../models/portable_math.ts";

const MULTIPLIER = 0xd256d193;
const WEYL = 0x9e3779b9;

/**
 * `count` words of 32 bits: Philox-2x32-10 of the counters (0, stream), (1, stream), … under `seed`
 * (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 */
export function drawWords(
  count: number,
  { seed, stream = 0 }: { readonly seed: number; readonly stream?: number },
): Uint32Array {
  const out = new Uint32Array(count + count % 2);
  for (let i = 0; i < out.length; i += 2) {
    let [c0, c1, key] = [i / 2, stream, seed | 0];
    for (let round = 0; round < 10; round++) {
      const high = productHigh(c0);
      const low = Math.imul(MULTIPLIER, c0);
      c0 = high ^ key ^ c1;
      c1 = low;
      key = (key + WEYL) | 0;
    }
    out[i] = c0;
    out[i + 1] = c1;
  }
  return out.subarray(0, count);
}

/** The upper 32 of the 64 bits of `MULTIPLIER` times a word, by halves of 16 bits. */
function productHigh(word: number): number {
  const [a, b] = [MULTIPLIER >>> 16, MULTIPLIER & 0xffff];
  const [c, d] = [word >>> 16, word & 0xffff];
  const middle = a * d + Math.floor(b * d / 0x1_0000);
  return (a * c + Math.floor((middle + b * c) / 0x1_0000)) | 0;
}

/** `count` numbers from the standard normal distribution, by the Box–Muller transform. */
export function drawNormals(
  count: number,
  options: { readonly seed: number; readonly stream?: number },
): Float64Array {
  const drawn = drawWords(count + count % 2, options);
  const out = new Float64Array(drawn.length);
  for (let i = 0; i < out.length; i += 2) {
    const radius = Math.sqrt(-2 * ln((drawn[i]! + 0.5) / 2 ** 32));
    const turns = drawn[i + 1]! / 2 ** 32;
    out[i] = radius * cosTurns(turns);
    out[i + 1] = radius * sinTurns(turns);
  }
  return out.subarray(0, count);
}

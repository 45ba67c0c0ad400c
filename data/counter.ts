/**
 * Counter-based integers for drawing corpora and splits: the n-th draw of a named stream, the same
 * on every machine, whatever else was drawn.
 *
 * @module
 */

/**
 * Mixes 32 bits so that every input bit moves about half of the output bits; a bijection. Two
 * multiply-xorshift rounds, with the constants Wellons found by search for least bias
 * ("Prospecting for hash functions", 2018: `lowbias32`).
 */
export function mix32(x: number): number {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Hashes a seed and a path of names or numbers to the 32-bit key of a stream. */
export function streamKey(seed: number, ...path: readonly (string | number)[]): number {
  let key = mix32(seed ^ 0x9e3779b9);
  key = mix32(key ^ Math.floor(seed / 0x1_0000_0000));
  for (const part of path) {
    if (typeof part === "number") {
      key = mix32((key + 0x85ebca6b) ^ part);
    } else {
      for (let i = 0; i < part.length; i++) key = mix32((key + 0xc2b2ae35) ^ part.charCodeAt(i));
      key = mix32(key ^ part.length);
    }
  }
  return key;
}

/** Draws the integers of one stream in turn. */
export class Counter {
  #key: number;
  #drawn = 0;

  constructor(seed: number, ...path: readonly (string | number)[]) {
    this.#key = streamKey(seed, ...path);
  }

  /** The next 32 bits. */
  next(): number {
    this.#drawn += 1;
    return mix32(mix32(this.#key ^ Math.imul(this.#drawn, 0x9e3779b9)) + this.#key);
  }

  /**
   * The next integer from 0 to `bound` - 1, all equally likely up to bound / 2³².
   *
   * @throws {RangeError} If `bound` is not an integer from 1 to 2²¹, past which the product would
   * not be exact in a double.
   */
  below(bound: number): number {
    if (!Number.isInteger(bound) || bound < 1 || bound > 0x200000) {
      throw new RangeError(`Cannot draw an integer below ${bound}: must be from 1 to 2097152`);
    }
    return Math.floor(this.next() * bound / 0x1_0000_0000);
  }
}

/**
 * Counter-based random streams: any number of a stream can be computed on its own, from a seed, the
 * stream's name and the number's index. Nothing is shared between two uses, and all arithmetic is
 * modulo 2³², so that the numbers are the same on every machine.
 *
 * There are two generators. Models draw by Threefry-4x32 with 20 rounds (Salmon, Moraes, Dror & Shaw,
 * "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Corpora and splits are drawn by
 * {@linkcode Counter}, which is lighter; another generator would give other corpora, and so other
 * results. Anything new draws by Threefry.
 *
 * @module
 */
import { cosTurns, ln, sinTurns } from "./portable_math.ts";

/** A stream: 128 bits that fix every number drawn from it. */
export type StreamKey = readonly [number, number, number, number];

/** Sets the last word of an extended key. */
export const PARITY = 0x1bd11bda;

/** Rotations of even and of odd rounds of four, in the order in which they are applied. */
export const ROTATIONS = [
  [10, 26, 11, 21, 13, 27, 23, 5],
  [6, 20, 17, 11, 25, 10, 18, 20],
] as const;

/**
 * Threefry-4x32-20 of counter (c0, c1, c2, c3) under `key`: writes four words to `out[at...]`.
 *
 * Salmon et al. 2011, section 3.2; rotation constants of their table 4.
 */
export function threefry(
  key: StreamKey,
  counter: readonly [number, number, number, number],
  out: Uint32Array | Int32Array,
  at = 0,
): void {
  const k0 = key[0] | 0, k1 = key[1] | 0, k2 = key[2] | 0, k3 = key[3] | 0;
  const k4 = PARITY ^ k0 ^ k1 ^ k2 ^ k3;
  let x0 = (counter[0] + k0) | 0, x1 = (counter[1] + k1) | 0;
  let x2 = (counter[2] + k2) | 0, x3 = (counter[3] + k3) | 0;
  let a = k1, b = k2, c = k3, d = k4, e = k0;
  for (let round = 0; round < 20; round += 4) {
    if ((round & 4) === 0) {
      x0 = (x0 + x1) | 0, x1 = x0 ^ ((x1 << 10) | (x1 >>> 22));
      x2 = (x2 + x3) | 0, x3 = x2 ^ ((x3 << 26) | (x3 >>> 6));
      x0 = (x0 + x3) | 0, x3 = x0 ^ ((x3 << 11) | (x3 >>> 21));
      x2 = (x2 + x1) | 0, x1 = x2 ^ ((x1 << 21) | (x1 >>> 11));
      x0 = (x0 + x1) | 0, x1 = x0 ^ ((x1 << 13) | (x1 >>> 19));
      x2 = (x2 + x3) | 0, x3 = x2 ^ ((x3 << 27) | (x3 >>> 5));
      x0 = (x0 + x3) | 0, x3 = x0 ^ ((x3 << 23) | (x3 >>> 9));
      x2 = (x2 + x1) | 0, x1 = x2 ^ ((x1 << 5) | (x1 >>> 27));
    } else {
      x0 = (x0 + x1) | 0, x1 = x0 ^ ((x1 << 6) | (x1 >>> 26));
      x2 = (x2 + x3) | 0, x3 = x2 ^ ((x3 << 20) | (x3 >>> 12));
      x0 = (x0 + x3) | 0, x3 = x0 ^ ((x3 << 17) | (x3 >>> 15));
      x2 = (x2 + x1) | 0, x1 = x2 ^ ((x1 << 11) | (x1 >>> 21));
      x0 = (x0 + x1) | 0, x1 = x0 ^ ((x1 << 25) | (x1 >>> 7));
      x2 = (x2 + x3) | 0, x3 = x2 ^ ((x3 << 10) | (x3 >>> 22));
      x0 = (x0 + x3) | 0, x3 = x0 ^ ((x3 << 18) | (x3 >>> 14));
      x2 = (x2 + x1) | 0, x1 = x2 ^ ((x1 << 20) | (x1 >>> 12));
    }
    x0 = (x0 + a) | 0, x1 = (x1 + b) | 0, x2 = (x2 + c) | 0;
    x3 = (x3 + d + (round >> 2) + 1) | 0;
    const first = a;
    a = b, b = c, c = d, d = e, e = first;
  }
  out[at] = x0, out[at + 1] = x1, out[at + 2] = x2, out[at + 3] = x3;
}

/**
 * The key of the stream called `name` under `seed`: the name's UTF-8 bytes absorbed 16 at a time,
 * `h ← threefry(h, block) ⊕ block`, from a start that holds the seed and the name's length.
 *
 * @throws {RangeError} If the seed is not an integer in 0..2⁵³−1.
 */
export function streamKey(seed: number, name: string): StreamKey {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new RangeError(
      `Cannot derive stream "${name}": the seed must be an integer from 0 to 2^53-1, found ${seed}`,
    );
  }
  const bytes = new TextEncoder().encode(name);
  const state = new Uint32Array([
    seed >>> 0,
    Math.floor(seed / 2 ** 32),
    bytes.length,
    0x4c6f636b,
  ]);
  const next = new Uint32Array(4);
  for (let start = 0; start === 0 || start < bytes.length; start += 16) {
    const block: [number, number, number, number] = [0, 0, 0, 0];
    for (let i = 0; i < 16; i++) {
      block[i >> 2]! |= (bytes[start + i] ?? 0) << (8 * (i & 3));
    }
    threefry([state[0]!, state[1]!, state[2]!, state[3]!], block, next);
    for (let i = 0; i < 4; i++) state[i] = next[i]! ^ block[i]!;
  }
  return [state[0]!, state[1]!, state[2]!, state[3]!];
}

/** The first `count` 32-bit words of a stream, four to a block. */
export function words(key: StreamKey, count: number): Uint32Array {
  const out = new Uint32Array((count + 3) & ~3);
  for (let i = 0; i < out.length; i += 4) threefry(key, [i >>> 2, 0, 0, 0], out, i);
  return out.subarray(0, count);
}

/** `count` numbers from the uniform distribution on [low, high), 24 random bits each, float32. */
export function uniform(
  key: StreamKey,
  count: number,
  options: { low: number; high: number },
): Float32Array {
  const out = new Float32Array(count);
  const drawn = words(key, count);
  const span = options.high - options.low;
  for (let i = 0; i < count; i++) out[i] = options.low + span * ((drawn[i]! >>> 8) * 2 ** -24);
  return out;
}

/**
 * `count` numbers from N(0, deviation²), float32, by the Box–Muller transform
 * `√(−2 ln u) (cos 2πv, sin 2πv)` in portable double arithmetic.
 */
export function normal(
  key: StreamKey,
  count: number,
  options: { deviation?: number } = {},
): Float32Array {
  const out = new Float32Array(count);
  const drawn = words(key, (count + 1) & ~1);
  const deviation = options.deviation ?? 1;
  for (let i = 0; i < count; i += 2) {
    const radius = deviation * Math.sqrt(-2 * ln((drawn[i]! + 0.5) * 2 ** -32));
    const turns = drawn[i + 1]! * 2 ** -32;
    out[i] = radius * cosTurns(turns);
    if (i + 1 < count) out[i + 1] = radius * sinTurns(turns);
  }
  return out;
}

/** `count` integers drawn evenly from 0..bound−1, by rejection. */
export function integers(key: StreamKey, count: number, bound: number): Uint32Array {
  const out = new Uint32Array(count);
  const next = boundedIntegers(key);
  for (let i = 0; i < count; i++) out[i] = next(bound);
  return out;
}

/** Draws integers below a bound, one after the other. */
function boundedIntegers(key: StreamKey): (bound: number) => number {
  const block = new Uint32Array(4);
  let used = 0;
  return (bound) => {
    const limit = 2 ** 32 - 2 ** 32 % bound;
    let word: number;
    do {
      if ((used & 3) === 0) threefry(key, [used >>> 2, 0, 0, 0], block);
      word = block[used++ & 3]!;
    } while (word >= limit);
    return word % bound;
  };
}

/** A uniformly drawn permutation of 0..count−1 (Fisher–Yates; bounded integers by rejection). */
export function permutation(key: StreamKey, count: number): Uint32Array {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  const next = boundedIntegers(key);
  for (let last = count - 1; last > 0; last--) {
    const chosen = next(last + 1);
    const moved = order[last]!;
    order[last] = order[chosen]!;
    order[chosen] = moved;
  }
  return order;
}

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

/** A seed and a path of names or numbers, mixed to 32 bits. */
export function mixPath(seed: number, ...path: readonly (string | number)[]): number {
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

/** Draws integers for corpora and splits, one after the other: of a seed and a path by {@linkcode mix32}. */
export class Counter {
  readonly #key: number;
  #drawn = 0;

  constructor(seed: number, ...path: readonly (string | number)[]) {
    this.#key = mixPath(seed, ...path);
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

  /** `count` different integers below `bound`, in drawn order. */
  distinct(bound: number, count: number): number[] {
    const taken = new Set<number>();
    while (taken.size < count) taken.add(this.below(bound));
    return [...taken];
  }
}

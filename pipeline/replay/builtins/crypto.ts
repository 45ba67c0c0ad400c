/**
 * SHA-256 in place of `node:crypto`, where that is not: in a browser. FIPS 180-4.
 *
 * @module
 */

/** A digest that is being taken. */
export class Hash {
  readonly #state = Uint32Array.from(START);
  readonly #block = new Uint8Array(64);
  readonly #words = new Uint32Array(64);
  #length = 0;

  /** Adds bytes, or a text in UTF-8. */
  update(data: string | Uint8Array): this {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    let filled = this.#length % 64;
    this.#length += bytes.length;
    for (let at = 0; at < bytes.length;) {
      const piece = bytes.subarray(at, at + 64 - filled);
      this.#block.set(piece, filled);
      at += piece.length;
      filled += piece.length;
      if (filled === 64) {
        this.#mix();
        filled = 0;
      }
    }
    return this;
  }

  /** The digest: hex digits, or bytes if no encoding is given. */
  digest(): Uint8Array<ArrayBuffer>;
  digest(encoding: "hex"): string;
  digest(encoding?: "hex"): string | Uint8Array<ArrayBuffer> {
    const bits = this.#length * 8;
    const end = new Uint8Array((this.#length % 64 < 56 ? 64 : 128) - this.#length % 64);
    end[0] = 0x80;
    const tail = new DataView(end.buffer, end.length - 8);
    tail.setUint32(0, Math.floor(bits / 2 ** 32));
    tail.setUint32(4, bits >>> 0);
    this.update(end);
    const digest = new Uint8Array(32);
    const view = new DataView(digest.buffer);
    this.#state.forEach((word, index) => view.setUint32(4 * index, word));
    if (encoding === undefined) return digest;
    return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  #mix(): void {
    const block = new DataView(this.#block.buffer), w = this.#words, state = this.#state;
    for (let t = 0; t < 16; t++) w[t] = block.getUint32(4 * t);
    for (let t = 16; t < 64; t++) {
      const a = w[t - 15]!, b = w[t - 2]!;
      const s0 = turn(a, 7) ^ turn(a, 18) ^ a >>> 3, s1 = turn(b, 17) ^ turn(b, 19) ^ b >>> 10;
      w[t] = w[t - 16]! + s0 + w[t - 7]! + s1;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as Eight;
    for (let t = 0; t < 64; t++) {
      const s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25), choice = e & f ^ ~e & g;
      const first = h + s1 + choice + ROUND[t]! + w[t]! | 0;
      const s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22), majority = a & b ^ a & c ^ b & c;
      h = g;
      g = f;
      f = e;
      e = d + first | 0;
      d = c;
      c = b;
      b = a;
      a = first + s0 + majority | 0;
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => state[index]! += word);
  }
}

type Eight = [number, number, number, number, number, number, number, number];

function turn(word: number, by: number): number {
  return word >>> by | word << 32 - by;
}

/** The first 32 bits of the fractional parts of the roots of the first primes. */
function roots(count: number, root: (prime: bigint) => bigint): Uint32Array {
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) {
    if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  }
  return Uint32Array.from(primes, (prime) => Number(root(BigInt(prime)) & 0xffffffffn));
}

/** The whole part of the root of some degree: the largest x with x ** degree ≤ n. */
function rootOf(n: bigint, degree: bigint): bigint {
  let low = 0n, high = 1n << 40n;
  while (high - low > 1n) {
    const middle = low + high >> 1n;
    if (middle ** degree <= n) low = middle;
    else high = middle;
  }
  return low;
}

const START = roots(8, (prime) => rootOf(prime << 64n, 2n));
const ROUND = roots(64, (prime) => rootOf(prime << 96n, 3n));

/** As Node's. @throws {RangeError} For another algorithm than SHA-256. */
export function createHash(algorithm: string): Hash {
  if (algorithm === "sha256") return new Hash();
  throw new RangeError(`Cannot hash by ${algorithm}: without Node there is sha256 alone`);
}

/** As Node's. */
export function hash(algorithm: string, data: string | Uint8Array, _encoding: "hex"): string {
  return createHash(algorithm).update(data).digest("hex");
}

/**
 * Arrays of unsigned 32-bit integers that grow.
 *
 * @module
 */

/** An append-only array of unsigned 32-bit integers. */
export class GrowingArray {
  #values = new Uint32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Uint32Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  at(index: number): number {
    return this.#values[index]!;
  }

  set(index: number, value: number): void {
    this.#values[index] = value;
  }

  /** What was pushed, as a view. */
  values(): Uint32Array {
    return this.#values.subarray(0, this.#length);
  }
}

/** An append-only array for many millions of integers: it grows without copying what it holds. */
export class ChunkedArray {
  readonly #chunks: Uint32Array[] = [];
  readonly #chunkLength: number;
  #length = 0;

  constructor(chunkLength = 1 << 20) {
    this.#chunkLength = chunkLength;
  }

  get length(): number {
    return this.#length;
  }

  append(values: Uint32Array): void {
    for (let from = 0; from < values.length;) {
      const at = this.#length % this.#chunkLength;
      if (at === 0) this.#chunks.push(new Uint32Array(this.#chunkLength));
      const part = values.subarray(from, from + this.#chunkLength - at);
      this.#chunks[this.#chunks.length - 1]!.set(part, at);
      this.#length += part.length;
      from += part.length;
    }
  }

  /** Gives all values, in order, in pieces, and forgets each piece before the next. */
  *drain(): Generator<Uint32Array, void, undefined> {
    for (let left = this.#length; left > 0; left -= this.#chunkLength) {
      yield this.#chunks.shift()!.subarray(0, left);
    }
    this.#length = 0;
  }
}

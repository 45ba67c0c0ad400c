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

const chunkLength = 1 << 20;

/** An append-only array for many millions of integers: it grows without copying what it holds. */
export class ChunkedArray {
  readonly #chunks: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    const at = this.#length % chunkLength;
    if (at === 0) this.#chunks.push(new Uint32Array(chunkLength));
    this.#chunks[this.#chunks.length - 1]![at] = value;
    this.#length += 1;
  }

  /** Calls `visit` with every value, in order, and forgets it. */
  drain(visit: (value: number, index: number) => void): void {
    for (let start = 0; start < this.#length; start += chunkLength) {
      const chunk = this.#chunks.shift()!;
      const count = Math.min(chunkLength, this.#length - start);
      for (let i = 0; i < count; i++) visit(chunk[i]!, start + i);
    }
    this.#length = 0;
  }
}

/**
 * Memory that grows: arrays of unsigned 32-bit integers, and rooms for bytes.
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

/**
 * An append-only array for hundreds of millions of integers, most of them small: each takes a byte
 * per 7 bits, the lowest first, whose upper bit says that more follow. It grows without copying what it holds.
 */
export class ChunkedArray {
  readonly #chunks: { readonly bytes: Uint8Array; readonly used: number }[] = [];
  readonly #chunkLength: number;
  #bytes: Uint8Array | undefined;
  #used = 0;
  #length = 0;

  /** @param chunkLength Bytes held in one piece; at least 5. */
  constructor(chunkLength = 1 << 20) {
    this.#chunkLength = chunkLength;
  }

  get length(): number {
    return this.#length;
  }

  /** Appends values, those from `start` to before `end`. */
  append(values: Uint32Array, start = 0, end = values.length): void {
    let bytes = this.#bytes ??= new Uint8Array(this.#chunkLength);
    let at = this.#used;
    for (let i = start; i < end; i++) {
      if (at + 5 > bytes.length) {
        this.#chunks.push({ bytes, used: at });
        bytes = this.#bytes = new Uint8Array(this.#chunkLength);
        at = 0;
      }
      let value = values[i]!;
      for (; value > 0x7f; value >>>= 7) bytes[at++] = value | 0x80;
      bytes[at++] = value;
    }
    this.#used = at;
    this.#length += end - start;
  }

  /** Appends values that are bytes already, as they are held here. */
  appendBytes(values: Uint8Array, count: number): void {
    if (this.#bytes === undefined || this.#used + values.length > this.#bytes.length) {
      this.#finishChunk();
      this.#bytes = new Uint8Array(Math.max(this.#chunkLength, values.length));
    }
    this.#bytes.set(values, this.#used);
    this.#used += values.length;
    this.#length += count;
  }

  #finishChunk(): void {
    if (this.#bytes !== undefined) this.#chunks.push({ bytes: this.#bytes, used: this.#used });
    this.#bytes = undefined;
    this.#used = 0;
  }

  /** Gives the bytes of all values, in order, in pieces of whole values, and forgets what it gave. */
  *drainBytes(): Generator<Uint8Array, void, undefined> {
    this.#finishChunk();
    this.#length = 0;
    for (let chunk = this.#chunks.shift(); chunk !== undefined; chunk = this.#chunks.shift()) {
      yield chunk.bytes.subarray(0, chunk.used);
    }
  }

  /** Gives all values, in order, in pieces that the next overwrites, and forgets what it gave. */
  *drain(): Generator<Uint32Array, void, undefined> {
    let values = new Uint32Array();
    for (const bytes of this.drainBytes()) {
      if (values.length < bytes.length) values = new Uint32Array(bytes.length);
      let count = 0;
      for (let at = 0; at < bytes.length;) {
        let byte = bytes[at++]!;
        let value = byte & 0x7f;
        for (let shift = 7; byte > 0x7f; shift += 7) {
          byte = bytes[at++]!;
          value |= (byte & 0x7f) << shift;
        }
        values[count++] = value;
      }
      yield values.subarray(0, count);
    }
  }
}

/** Rooms for bytes, many in one piece of memory: to allocate each by itself takes longer than to fill it. */
export class PackedBytes {
  readonly #pieceLength: number;
  #piece = new Uint8Array();
  #used = 0;

  /** @param pieceLength Bytes allocated at a time, where no more are asked for. */
  constructor(pieceLength = 1 << 20) {
    this.#pieceLength = pieceLength;
  }

  /** Lets what was given be overwritten. */
  clear(): void {
    this.#used = 0;
  }

  /** So many bytes, whatever they hold. */
  room(length: number): Uint8Array {
    if (this.#used + length > this.#piece.length) {
      this.#piece = new Uint8Array(Math.max(length, this.#pieceLength));
      this.#used = 0;
    }
    this.#used += length;
    return this.#piece.subarray(this.#used - length, this.#used);
  }
}

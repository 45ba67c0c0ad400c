/**
 * A device's buffers, kept for reuse within a bound. tfjs keeps every buffer it ever freed under its
 * exact size: where lengths vary, almost no batch finds a buffer of its size, and memory grows with
 * every step.
 *
 * @module
 */

/** Takes the place of tfjs's `BufferManager`, whose names these are. */
export class BufferPool {
  /** By size and usage; the kind used last comes last. No list is empty. */
  readonly #free = new Map<string, GPUBuffer[]>();
  /** With the bytes asked for, which may be fewer than the buffer has. */
  readonly #used = new Map<GPUBuffer, number>();
  #freeBuffers = 0;
  numBytesUsed = 0;
  /** Used and free; never more than twice `numBytesPeak`. */
  numBytesAllocated = 0;
  /** The most that was used at once. */
  numBytesPeak = 0;

  constructor(readonly device: GPUDevice) {}

  /**
   * A buffer of at least `size` bytes, undefined contents; mapped if it is new and
   * `mappedAtCreation`. Without `reuse` it is new and of this size.
   */
  acquireBuffer(size: number, usage: number, mappedAtCreation = false, reuse = true): GPUBuffer {
    const bytes = reuse ? roomFor(size, this.device.limits.maxBufferSize) : size;
    const kept = reuse ? this.#free.get(kindOf(bytes, usage)) : undefined;
    const buffer = kept === undefined
      ? this.#create({ size: bytes, usage, mappedAtCreation })
      : this.#take(kept, kept.length - 1);
    this.#used.set(buffer, size);
    this.numBytesUsed += bytes;
    return buffer;
  }

  /** Takes a buffer back; without `reuse` it is destroyed. */
  releaseBuffer(buffer: GPUBuffer, reuse = true): void {
    // The backend may be disposed before the tensors on it are.
    if (!this.#used.delete(buffer)) return;
    this.numBytesUsed -= buffer.size;
    if (!reuse) return this.#destroy(buffer);
    const kind = kindOf(buffer.size, buffer.usage);
    const kept = this.#free.get(kind) ?? [];
    kept.push(buffer);
    this.#free.delete(kind);
    this.#free.set(kind, kept);
    this.#freeBuffers++;
  }

  /** The bytes that were asked for when this buffer, in use, was acquired. */
  askedFor(buffer: GPUBuffer): number {
    return this.#used.get(buffer) ?? buffer.size;
  }

  getNumUsedBuffers(): number {
    return this.#used.size;
  }

  getNumFreeBuffers(): number {
    return this.#freeBuffers;
  }

  dispose(): void {
    for (const buffer of [...this.#used.keys(), ...[...this.#free.values()].flat()]) {
      this.#destroy(buffer);
    }
    this.#used.clear();
    this.#free.clear();
    this.#freeBuffers = this.numBytesUsed = 0;
  }

  #create(wanted: { size: number; usage: number; mappedAtCreation: boolean }): GPUBuffer {
    this.numBytesPeak = Math.max(this.numBytesPeak, this.numBytesUsed + wanted.size);
    for (const kept of this.#free.values()) {
      while (kept.length > 0 && this.numBytesAllocated + wanted.size > 2 * this.numBytesPeak) {
        this.#destroy(this.#take(kept, 0));
      }
    }
    this.numBytesAllocated += wanted.size;
    return this.device.createBuffer(wanted);
  }

  #take(kept: GPUBuffer[], index: number): GPUBuffer {
    const [buffer] = kept.splice(index, 1);
    const kind = kindOf(buffer!.size, buffer!.usage);
    if (kept.length === 0) this.#free.delete(kind);
    this.#freeBuffers--;
    return buffer!;
  }

  #destroy(buffer: GPUBuffer): void {
    this.numBytesAllocated -= buffer.size;
    buffer.destroy();
  }
}

function kindOf(size: number, usage: number): string {
  return `${size} ${usage}`;
}

/**
 * The size to make a buffer of: the next of eight steps from one power of two to the other, so that
 * batches of about one length share buffers.
 */
function roomFor(size: number, max: number): number {
  let step = 32;
  while (step * 16 <= size) step *= 2;
  return Math.max(size, Math.min(max, Math.ceil(size / step) * step));
}

/**
 * Checking bytes against what a source record says of them.
 *
 * @module
 */
import { createHash, type Hash } from "node:crypto";

const algorithms = ["sha256", "sha1", "md5", "git_oid"] as const;

/** Git hashes a file's content after its length. */
function hashOf(algorithm: (typeof algorithms)[number], { bytes }: Expected): Hash {
  return algorithm === "git_oid"
    ? createHash("sha1").update(`blob ${bytes}\0`)
    : createHash(algorithm);
}

/** Bytes that are not the ones the source record describes. */
export class ChecksumError extends Error {
  override name = "ChecksumError";
}

/** What a file's bytes must be. */
export interface Expected
  extends Partial<Readonly<Record<(typeof algorithms)[number], string | undefined>>> {
  readonly bytes?: number | undefined;
  /** The most there may be where `bytes` is not recorded. */
  readonly maxBytes: number;
}

/** Follows a file's bytes and compares their number and every recorded checksum at the end. */
export class Verifier {
  readonly #file: Expected;
  readonly #hashes: [algorithm: (typeof algorithms)[number], hash: Hash][];
  /** Whether any checksum is recorded. */
  readonly #pinned: boolean;
  #bytes = 0;

  constructor(file: Expected) {
    this.#file = file;
    const recorded = algorithms.filter((algorithm) => file[algorithm] !== undefined);
    this.#pinned = recorded.length > 0;
    this.#hashes = (this.#pinned ? recorded : ["sha256"] as const)
      .map((algorithm) => [algorithm, hashOf(algorithm, file)]);
  }

  /** Bytes seen so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws {ChecksumError} If `more` bytes would be more than may come. */
  expect(more: number): void {
    const { bytes, maxBytes } = this.#file;
    if (!(this.#bytes + more > (bytes ?? maxBytes))) return;
    throw new ChecksumError(
      bytes === undefined
        ? `must have at most ${maxBytes} bytes, found more; if that is right, state its "bytes"`
        : `must have ${bytes} bytes, found more`,
    );
  }

  /** @throws {ChecksumError} If there are now more bytes than may come. */
  update(chunk: Uint8Array): void {
    this.expect(chunk.length);
    this.#bytes += chunk.length;
    for (const [, hash] of this.#hashes) hash.update(chunk);
  }

  /**
   * @returns The SHA-256 found, of a file for which no checksum is recorded.
   * @throws {ChecksumError} If the number of bytes or a checksum differs.
   */
  finish(): string | undefined {
    const expected = this.#file.bytes;
    if (expected !== undefined && this.#bytes !== expected) {
      throw new ChecksumError(`must have ${expected} bytes, found ${this.#bytes}`);
    }
    for (const [algorithm, hash] of this.#hashes) {
      const found = hash.digest("hex");
      if (!this.#pinned) return found;
      if (found !== this.#file[algorithm]) {
        throw new ChecksumError(`must have ${algorithm} ${this.#file[algorithm]}, found ${found}`);
      }
    }
    return undefined;
  }
}

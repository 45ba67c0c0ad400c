/**
 * A file on its way: bytes of it that are there already, hashed as they grow.
 *
 * @module
 */
import { ChecksumError, type Expected, Verifier } from "./checksum.ts";

/** The bytes of a file received so far, kept under a name of their own until they are verified. */
export class PartialFile implements Disposable {
  readonly #target: Deno.FsFile;
  readonly #expected: Expected;
  #verifier: Verifier;

  private constructor(target: Deno.FsFile, expected: Expected) {
    this.#target = target;
    this.#expected = expected;
    this.#verifier = new Verifier(expected);
  }

  /** Opens what an earlier attempt left at `path`, or an empty file. */
  static async open(path: string, expected: Expected): Promise<PartialFile> {
    // A folder, FIFO or link was left by no attempt; a FIFO would wait, a link lead elsewhere.
    if (!isFileOrAbsent(path)) Deno.removeSync(path, { recursive: true });
    const target = await Deno.open(path, { read: true, write: true, create: true });
    return new PartialFile(target, expected);
  }

  get bytes(): number {
    return this.#verifier.bytes;
  }

  /** Takes over what is there; returns whether that is the whole file. */
  async resume(): Promise<boolean> {
    const buffer = new Uint8Array(1 << 20);
    try {
      for (let read; (read = await this.#target.read(buffer)) !== null;) {
        this.#verifier.update(buffer.subarray(0, read));
      }
      if (this.bytes !== this.#expected.bytes) return false;
      this.finish();
      return true;
    } catch (error) {
      if (!(error instanceof ChecksumError)) throw error;
      this.restart();
      return false;
    }
  }

  restart(): void {
    this.#target.truncateSync(0);
    this.#target.seekSync(0, Deno.SeekMode.Start);
    this.#verifier = new Verifier(this.#expected);
  }

  /** @throws {ChecksumError} If the file may not have so many bytes more. */
  expect(more: number): void {
    this.#verifier.expect(more);
  }

  /** @throws {ChecksumError} If the file may not have so many bytes. */
  async append(chunk: Uint8Array): Promise<void> {
    this.#verifier.update(chunk);
    for (let at = 0; at < chunk.length;) at += await this.#target.write(chunk.subarray(at));
  }

  /**
   * Verifies the whole and syncs it.
   *
   * @returns The SHA-256 found, of a file for which no checksum is recorded.
   * @throws {ChecksumError} If the whole is not what the record says.
   */
  finish(): string | undefined {
    const found = this.#verifier.finish();
    this.#target.syncSync();
    return found;
  }

  [Symbol.dispose](): void {
    this.#target.close();
  }
}

function isFileOrAbsent(path: string): boolean {
  try {
    return Deno.lstatSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return true;
    throw error;
  }
}

/** Renames a file, also to another file system. */
export function move(from: string, to: string): void {
  try {
    Deno.renameSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code !== "EXDEV") throw error;
    Deno.copyFileSync(from, to);
    Deno.removeSync(from);
  }
}

/** Removes a file, if it is there. */
export function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

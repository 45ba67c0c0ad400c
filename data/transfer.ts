/**
 * Getting one raw file: from a mirror folder, or from its URLs, resuming after breaks.
 *
 * @module
 */
import { join } from "node:path";
import { ChecksumError, Verifier } from "./checksum.ts";
import { openBody, RequestError } from "./request.ts";
import type { RawFile } from "./source.ts";

/** A raw file that could not be had, or was not what its record says. */
export class TransferError extends Error {
  override name = "TransferError";
}

/** How to get a file. */
export interface TransferOptions {
  /** Folder of mirrored files, or base URL below which they lie. */
  readonly mirror?: string | undefined;
  /** Hosts that may be asked; a redirect to any other is refused. */
  readonly hosts: readonly string[];
  /** Where the bytes received so far are kept; what it holds already is resumed. */
  readonly partial: string;
  /** Whether `partial` outlives a failure that a later attempt may go on from. */
  readonly keepPartial?: boolean;
  /** Called with the number of bytes the file has so far. */
  readonly onBytes?: (bytes: number) => void;
  /** Pauses before further attempts at a URL, in milliseconds; their number limits the attempts. */
  readonly backoffMs?: readonly number[];
  /** Longest silence of a server, in milliseconds. */
  readonly idleMs?: number;
}

const defaultBackoffMs = [500, 1000, 2000, 4000, 8000];
const defaultIdleMs = 30_000;

/**
 * Gets a file and verifies it: from the mirror, else from its own URLs. The destination appears
 * only when everything is right; the partial file is kept only where a later attempt can go on
 * from it and a checksum will judge the result.
 *
 * @returns The SHA-256 of what came, for a file that has no checksum recorded.
 * @throws {TransferError} If no place has the file, with what went wrong at each; if its bytes or
 * a checksum differ from the record.
 */
export async function transferFile(
  file: RawFile,
  destination: string,
  options: TransferOptions,
): Promise<string | undefined> {
  const failures: string[] = [];
  if (file.mirror !== undefined && !isUrl(options.mirror)) {
    if (options.mirror === undefined) {
      failures.push(`no mirror folder is given, where it would be "${file.mirror}"`);
    } else {
      const path = join(options.mirror, file.mirror);
      if (exists(path)) {
        return await copyVerified(file, path, destination, options);
      }
      failures.push(`the mirror has no "${file.mirror}"`);
    }
  }
  for (const url of [...mirrorUrl(file, options.mirror), ...file.urls]) {
    try {
      const found = await fetchVerified(file, url, options);
      move(options.partial, destination);
      return found;
    } catch (cause) {
      if (!(cause instanceof RequestError || cause instanceof ChecksumError)) throw cause;
      failures.push(`${url}: ${cause.message}`);
      // Only bytes that a checksum will judge may be continued, from wherever.
      if (cause instanceof ChecksumError || !hasChecksum(file)) remove(options.partial);
    }
  }
  if (!options.keepPartial) remove(options.partial);
  throw new TransferError(`Cannot get "${file.name}": ${failures.join("; ")}`);
}

async function copyVerified(
  file: RawFile,
  path: string,
  destination: string,
  options: TransferOptions,
): Promise<string | undefined> {
  const verifier = new Verifier(file);
  let found: string | undefined;
  const buffer = new Uint8Array(1 << 20);
  try {
    using source = await Deno.open(path);
    using target = await Deno.open(options.partial, { write: true, create: true, truncate: true });
    for (let read; (read = await source.read(buffer)) !== null;) {
      const chunk = buffer.subarray(0, read);
      verifier.update(chunk);
      await writeAll(target, chunk);
      options.onBytes?.(verifier.bytes);
    }
    found = verifier.finish();
  } catch (cause) {
    remove(options.partial);
    if (!(cause instanceof ChecksumError)) throw cause;
    throw new TransferError(
      `Cannot use "${file.mirror}" of the mirror as "${file.name}": ${cause.message}`,
      { cause },
    );
  }
  move(options.partial, destination);
  return found;
}

/** Fetches into the partial file until it is whole, then verifies it. */
async function fetchVerified(
  file: RawFile,
  url: string,
  options: TransferOptions,
): Promise<string | undefined> {
  const { hosts, onBytes, backoffMs = defaultBackoffMs, idleMs = defaultIdleMs } = options;
  using target = await Deno.open(options.partial, { read: true, write: true, create: true });
  const partial = new PartialFile(target, file);
  if (!hasChecksum(file)) partial.restart();
  else if (await partial.resume()) return undefined;
  let validator: string | undefined;
  for (let attempt = 0;; attempt++) {
    // Without a checksum only the server's word joins two answers into one file.
    if (!hasChecksum(file) && validator === undefined) partial.restart();
    const before = partial.bytes;
    try {
      const body = await openBody(url, { hosts, from: before, validator, idleMs });
      validator = body.validator;
      if (body.from !== partial.bytes) partial.restart();
      for await (const chunk of body.chunks) {
        await partial.append(chunk);
        onBytes?.(partial.bytes);
      }
      if (file.bytes !== undefined && partial.bytes < file.bytes) {
        throw new RequestError(`ended after ${partial.bytes} of ${file.bytes} bytes`, true);
      }
      return partial.finish();
    } catch (error) {
      if (error instanceof ChecksumError && before > 0) {
        // The bytes resumed from may have been the wrong ones.
        partial.restart();
      } else if (!(error instanceof RequestError) || !error.retry) {
        throw error;
      } else if (error.rangeRefused) {
        partial.restart();
      }
      const pause = backoffMs[attempt];
      if (pause === undefined) {
        if (error instanceof ChecksumError) throw error;
        const { message } = error as RequestError;
        throw new RequestError(`${message}; gave up after ${attempt + 1} attempts`, false);
      }
      // A server that breaks off but gets on must not use the attempts up.
      if (partial.bytes > before + (1 << 20)) attempt = -1;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** A file under way, hashed as it grows. */
class PartialFile {
  readonly #target: Deno.FsFile;
  readonly #file: RawFile;
  #verifier: Verifier;

  constructor(target: Deno.FsFile, file: RawFile) {
    this.#target = target;
    this.#file = file;
    this.#verifier = new Verifier(file);
  }

  get bytes(): number {
    return this.#verifier.bytes;
  }

  /** Takes over what an earlier attempt left; says whether that was all of it. */
  async resume(): Promise<boolean> {
    const buffer = new Uint8Array(1 << 20);
    try {
      for (let read; (read = await this.#target.read(buffer)) !== null;) {
        this.#verifier.update(buffer.subarray(0, read));
      }
      if (this.bytes !== this.#file.bytes) return false;
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
    this.#verifier = new Verifier(this.#file);
  }

  async append(chunk: Uint8Array): Promise<void> {
    this.#verifier.update(chunk);
    await writeAll(this.#target, chunk);
  }

  /** @throws {ChecksumError} If the whole is not what the record says. */
  finish(): string | undefined {
    const found = this.#verifier.finish();
    this.#target.syncSync();
    return found;
  }
}

/** Whether a mirror is a base URL, not a folder. */
function isUrl(mirror: string | undefined): boolean {
  return mirror !== undefined && /^https?:\/\//.test(mirror);
}

/** The URL of a file in a mirror that is a base URL. */
function mirrorUrl({ mirror: path }: RawFile, mirror: string | undefined): string[] {
  if (path === undefined || mirror === undefined || !isUrl(mirror)) return [];
  const base = mirror.endsWith("/") ? mirror : `${mirror}/`;
  return [new URL(path.split("/").map(encodeURIComponent).join("/"), base).href];
}

function hasChecksum({ sha256, sha1, md5 }: RawFile): boolean {
  return (sha256 ?? sha1 ?? md5) !== undefined;
}

async function writeAll(target: Deno.FsFile, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length;) at += await target.write(chunk.subarray(at));
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** Renames, or where the two lie on different file systems, copies and removes. */
function move(from: string, to: string): void {
  try {
    Deno.renameSync(from, to);
  } catch (error) {
    if ((error as { code?: string }).code !== "EXDEV") throw error;
    Deno.copyFileSync(from, to);
    Deno.removeSync(from);
  }
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

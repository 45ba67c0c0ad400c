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
  /** Folder of mirrored files. */
  readonly mirror?: string | undefined;
  /** Hosts that may be asked; a redirect to any other is refused. */
  readonly hosts: readonly string[];
  /** Where the bytes received so far are kept; what it holds already is resumed. */
  readonly partial: string;
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
 * Gets a file and verifies it. The destination appears only when everything is right; the partial
 * file is kept only where a later attempt can go on from it.
 *
 * @throws {TransferError} If no place has the file, with what went wrong at each; if its bytes or
 * a checksum differ from the record.
 */
export async function transferFile(
  file: RawFile,
  destination: string,
  options: TransferOptions,
): Promise<void> {
  const failures: string[] = [];
  if (file.mirror !== undefined) {
    if (options.mirror === undefined) {
      failures.push(`no mirror folder is given, where it would be "${file.mirror}"`);
    } else {
      const path = join(options.mirror, file.mirror);
      if (exists(path)) {
        await copyVerified(file, path, destination, options);
        return;
      }
      failures.push(`the mirror has no "${file.mirror}"`);
    }
  }
  for (const url of file.urls) {
    try {
      await fetchVerified(file, url, options);
      Deno.renameSync(options.partial, destination);
      return;
    } catch (cause) {
      if (!(cause instanceof RequestError || cause instanceof ChecksumError)) throw cause;
      failures.push(`${url}: ${cause.message}`);
      // What one URL sent must not be continued from another.
      remove(options.partial);
    }
  }
  throw new TransferError(`Cannot get "${file.name}": ${failures.join("; ")}`);
}

async function copyVerified(
  file: RawFile,
  path: string,
  destination: string,
  options: TransferOptions,
): Promise<void> {
  const verifier = new Verifier(file);
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
    verifier.finish();
  } catch (cause) {
    remove(options.partial);
    if (!(cause instanceof ChecksumError)) throw cause;
    throw new TransferError(
      `Cannot use "${file.mirror}" of the mirror as "${file.name}": ${cause.message}`,
      { cause },
    );
  }
  Deno.renameSync(options.partial, destination);
}

/** Fetches into the partial file until it is whole, then verifies it. */
async function fetchVerified(file: RawFile, url: string, options: TransferOptions): Promise<void> {
  const backoffMs = options.backoffMs ?? defaultBackoffMs;
  const idleMs = options.idleMs ?? defaultIdleMs;
  using target = await Deno.open(options.partial, { read: true, write: true, create: true });
  let verifier = new Verifier(file);
  const restart = () => {
    target.truncateSync(0);
    target.seekSync(0, Deno.SeekMode.Start);
    verifier = new Verifier(file);
  };
  try {
    await rehash(target, verifier);
  } catch (error) {
    if (!(error instanceof ChecksumError)) throw error;
    restart();
  }
  let validator: string | undefined;
  for (let attempt = 0;; attempt++) {
    const before = verifier.bytes;
    try {
      const { hosts } = options;
      const body = await openBody(url, { hosts, from: before, validator, idleMs });
      validator = body.validator;
      if (body.from !== verifier.bytes) restart();
      for await (const chunk of body.chunks) {
        verifier.update(chunk);
        await writeAll(target, chunk);
        options.onBytes?.(verifier.bytes);
      }
      if (file.bytes !== undefined && verifier.bytes < file.bytes) {
        throw new RequestError(`ended after ${verifier.bytes} of ${file.bytes} bytes`, true);
      }
      verifier.finish();
      target.syncSync();
      return;
    } catch (error) {
      if (!(error instanceof RequestError) || !error.retry) throw error;
      // A server that breaks off but gets on must not use the attempts up.
      if (verifier.bytes > before + (1 << 20)) attempt = 0;
      const pause = backoffMs[attempt];
      if (pause === undefined) {
        throw new RequestError(`${error.message}; gave up after ${attempt + 1} attempts`, false);
      }
      if (error.rangeRefused) restart();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

async function rehash(target: Deno.FsFile, verifier: Verifier): Promise<void> {
  const buffer = new Uint8Array(1 << 20);
  for (let read; (read = await target.read(buffer)) !== null;) {
    verifier.update(buffer.subarray(0, read));
  }
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

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

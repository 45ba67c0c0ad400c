/**
 * Getting one raw file: from a mirror folder, or from its URLs, resuming after breaks.
 *
 * @module
 */
import { join } from "node:path";
import { ChecksumError, type Expected } from "./checksum.ts";
import { move, PartialFile, remove } from "./partial_file.ts";
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
  /** What a host is given to let one in, by its name: a header `authorization`. */
  readonly authorization?: Readonly<Record<string, string>>;
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
  /** Most bytes of a file whose record states no size. */
  readonly maxBytes?: number;
}

const defaultBackoffMs = [500, 1000, 2000, 4000, 8000];
const defaultIdleMs = 30_000;
/** A server may send without end: a file larger than this must state its size. */
const defaultMaxBytes = 16 * 2 ** 30;

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
  const { mirror } = options;
  const failures: string[] = [];
  let unreachable = false;
  if (file.mirror !== undefined && !isUrl(mirror)) {
    if (mirror === undefined) {
      failures.push(`no mirror folder is given, where it would be "${file.mirror}"`);
    } else if (exists(join(mirror, file.mirror))) {
      const found = await copyVerified(file, join(mirror, file.mirror), options);
      move(options.partial, destination);
      return found;
    } else {
      failures.push(`the mirror has no "${file.mirror}"`);
    }
  }
  for (const url of [...mirrorUrl(file, mirror), ...file.urls]) {
    try {
      const found = await fetchVerified(file, url, options);
      move(options.partial, destination);
      return found;
    } catch (cause) {
      if (!(cause instanceof RequestError || cause instanceof ChecksumError)) throw cause;
      failures.push(`${url}: ${cause.message}`);
      unreachable ||= cause instanceof RequestError && cause.unreachable;
      // Only bytes that a checksum will judge may be continued, from wherever.
      if (cause instanceof ChecksumError || !hasChecksum(file)) remove(options.partial);
    }
  }
  if (!options.keepPartial) remove(options.partial);
  const advice = unreachable
    ? "; run again with a network, or give a folder that has the file with --mirror DIR"
    : "";
  throw new TransferError(`Cannot get "${file.name}": ${failures.join("; ")}${advice}`);
}

/** What a file must be, of at most so many bytes. */
function expectedOf(file: RawFile, { maxBytes = defaultMaxBytes }: TransferOptions): Expected {
  return { ...file, maxBytes };
}

/** Copies from the mirror folder into the partial file, and verifies it. */
async function copyVerified(
  file: RawFile,
  path: string,
  options: TransferOptions,
): Promise<string | undefined> {
  const buffer = new Uint8Array(1 << 20);
  try {
    using source = await Deno.open(path);
    using target = await PartialFile.open(options.partial, expectedOf(file, options));
    target.restart();
    for (let read; (read = await source.read(buffer)) !== null;) {
      await target.append(buffer.subarray(0, read));
      options.onBytes?.(target.bytes);
    }
    return target.finish();
  } catch (cause) {
    remove(options.partial);
    if (!(cause instanceof ChecksumError)) throw cause;
    throw new TransferError(
      `Cannot use "${file.mirror}" of the mirror as "${file.name}": ${cause.message}`,
      { cause },
    );
  }
}

/** Fetches into the partial file until it is whole, then verifies it. */
async function fetchVerified(
  file: RawFile,
  url: string,
  options: TransferOptions,
): Promise<string | undefined> {
  const { backoffMs = defaultBackoffMs } = options;
  using partial = await PartialFile.open(options.partial, expectedOf(file, options));
  if (!hasChecksum(file)) partial.restart();
  else if (await partial.resume()) return undefined;
  const server: Server = { url, validator: undefined };
  let furthest = partial.bytes;
  for (let attempt = 0;; attempt++) {
    // Without a checksum only the server's word joins two answers into one file.
    if (!hasChecksum(file) && server.validator === undefined) partial.restart();
    const before = partial.bytes;
    try {
      await fetchRest(partial, server, options);
      if (file.bytes !== undefined && partial.bytes < file.bytes) {
        throw new RequestError(`ended after ${partial.bytes} of ${file.bytes} bytes`, true);
      }
      return partial.finish();
    } catch (error) {
      const pause = backoffMs[attempt];
      if (error instanceof ChecksumError) {
        if (before === 0 || pause === undefined) throw error;
        // The bytes resumed from may have been the wrong ones.
        partial.restart();
      } else if (error instanceof RequestError && error.retry) {
        if (pause === undefined) {
          const message = `${error.message}; gave up after ${attempt + 1} attempts`;
          throw new RequestError(message, false, { unreachable: error.unreachable });
        }
        if (error.rangeRefused) partial.restart();
      } else {
        throw error;
      }
      // A server that breaks off but gets on must not use the attempts up.
      if (partial.bytes > furthest + (1 << 20)) attempt = -1;
      furthest = Math.max(furthest, partial.bytes);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }
}

/** Where a file is fetched from. */
interface Server {
  readonly url: string;
  /** Strong ETag of the bytes had so far. */
  validator: string | undefined;
}

/** Appends what a server sends in one answer, from the byte the partial file ends at. */
async function fetchRest(
  partial: PartialFile,
  server: Server,
  { hosts, authorization, onBytes, idleMs = defaultIdleMs }: TransferOptions,
): Promise<void> {
  const { validator } = server;
  const body = await openBody(server.url, {
    ...{ hosts, from: partial.bytes, validator, idleMs },
    ...authorization ? { authorization } : {},
  });
  server.validator = body.validator;
  if (body.from !== partial.bytes) partial.restart();
  partial.expect(body.bytes);
  for await (const chunk of body.chunks) {
    await partial.append(chunk);
    onBytes?.(partial.bytes);
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

function hasChecksum({ sha256, sha1, md5, git_oid }: RawFile): boolean {
  return (sha256 ?? sha1 ?? md5 ?? git_oid) !== undefined;
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

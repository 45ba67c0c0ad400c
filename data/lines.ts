/**
 * Text out of files, a piece at a time: decompressed, bounded, decoded strictly.
 *
 * @module
 */
import { createGunzip } from "node:zlib";
import { Readable } from "node:stream";

/** A file that does not hold what its format promises; the message says where and what. */
export class DataError extends Error {
  override name = "DataError";
}

/** A raw file to read. */
export interface DataFile {
  /** Name shown in errors. */
  readonly name: string;
  readonly path: string;
  /** Most bytes it may hold once decompressed. Without it, 200 times its size. */
  readonly unpackedBytes?: number | undefined;
}

/** Bytes read or unpacked at a time. */
const chunkSize = 1 << 18;

/** Gzip and deflate reach 1,032-fold on zeros; text in practice stays below twentyfold. */
const plausibleRatio = 200;

/**
 * Streams a file's bytes, decompressed if its name ends in `.gz` or `.tgz`.
 *
 * @throws {DataError} If the compressed data is damaged or unpacks to more than is allowed.
 */
export async function* fileBytes(file: DataFile): AsyncGenerator<Uint8Array, void, undefined> {
  if (!/\.(gz|tgz)$/.test(file.name)) {
    yield* rawBytes(file.path);
    return;
  }
  const allowed = unpackedBound(file);
  const gunzip = createGunzip({ chunkSize });
  const source = Readable.from(rawBytes(file.path));
  source.on("error", (error) => gunzip.destroy(error));
  let total = 0;
  try {
    for await (const chunk of source.pipe(gunzip)) {
      total += chunk.length;
      if (total > allowed) throw new DataError(tooLarge(file.name, allowed));
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof DataError) throw cause;
    throw new DataError(
      `Cannot read "${file.name}": the compressed data is damaged after ${total} unpacked bytes: ${
        (cause as Error).message
      }`,
      { cause },
    );
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

/** Most bytes a file may unpack to. */
export function unpackedBound(file: DataFile): number {
  return file.unpackedBytes ?? Deno.statSync(file.path).size * plausibleRatio;
}

/** The message for a file that unpacks to more than `allowed` bytes. */
export function tooLarge(name: string, allowed: number): string {
  return `Cannot read "${name}": unpacks to more than ${allowed} bytes; if that is right, raise ` +
    `its "unpacked_bytes"`;
}

/**
 * Decodes UTF-8, dropping a byte order mark.
 *
 * @throws {DataError} At the first byte sequence that is not UTF-8.
 */
export async function* decodeText(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let bytes = 0;
  const decode = (chunk?: Uint8Array) => {
    try {
      return chunk ? decoder.decode(chunk, { stream: true }) : decoder.decode();
    } catch (cause) {
      const end = bytes + (chunk?.length ?? 0);
      throw new DataError(
        `Cannot read "${name}": not UTF-8 somewhere from byte ${Math.max(0, bytes - 3)} to ${end}`,
        { cause },
      );
    }
  };
  for await (const chunk of chunks) {
    const text = decode(chunk);
    bytes += chunk.length;
    if (text !== "") yield text;
  }
  const rest = decode();
  if (rest !== "") yield rest;
}

/** One line of a text, without its line end. */
export interface Line {
  /** Counted from 1. */
  readonly number: number;
  readonly text: string;
}

/** Most characters of one line or record: a quote left open must not swallow the memory. */
export const maxRecordLength = 64 * 1024 * 1024;

/**
 * Splits text into lines at LF, leaving a CR before it to the caller. Lines come by the chunk: an
 * await for each would cost more than to split it.
 *
 * @throws {DataError} If a line is longer than {@linkcode maxRecordLength}.
 */
export async function* textLines(
  chunks: AsyncIterable<string>,
  name: string,
): AsyncGenerator<Line[], void, undefined> {
  let number = 1;
  // Pieces of a line that runs over chunks; joined once, so that a long line costs linear time.
  let pieces: string[] = [];
  let pending = 0;
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    while (true) {
      const end = chunk.indexOf("\n", start);
      if (end < 0) break;
      pieces.push(chunk.slice(start, end));
      lines.push({ number, text: pieces.length === 1 ? pieces[0]! : pieces.join("") });
      number += 1;
      pieces = [];
      pending = 0;
      start = end + 1;
    }
    if (lines.length > 0) yield lines;
    if (start < chunk.length) {
      pieces.push(chunk.slice(start));
      pending += chunk.length - start;
      if (pending > maxRecordLength) {
        throw new DataError(
          `Cannot read "${name}": line ${number} is longer than ${maxRecordLength} characters`,
        );
      }
    }
  }
  if (pieces.length > 0) yield [{ number, text: pieces.join("") }];
}

async function* rawBytes(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  using file = await Deno.open(path);
  while (true) {
    // A new buffer each time: a consumer may hold on to what it was given.
    const buffer = new Uint8Array(chunkSize);
    const read = await file.read(buffer);
    if (read === null) return;
    yield buffer.subarray(0, read);
  }
}

/**
 * Text out of files, a piece at a time: decompressed, bounded, decoded strictly.
 *
 * @module
 */
import { isUtf8 } from "node:buffer";
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
 * Streams a file's bytes, decompressed if its name ends in `.gz` or `.tgz`. A piece may be overwritten by
 * the next: new memory for each would be let to pile up.
 *
 * @throws {DataError} If the compressed data is damaged or unpacks to more than is allowed.
 */
export async function* fileBytes(file: DataFile): AsyncGenerator<Uint8Array, void, undefined> {
  if (!/\.(gz|tgz)$/.test(file.name)) {
    yield* rawBytes(file.path, new Uint8Array(chunkSize));
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
      // Not Node's `Buffer`, whose methods take longer.
      yield new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.length);
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
  /** Its UTF-8. */
  readonly bytes: Uint8Array;
}

/** Most bytes of one line or record: a quote left open must not swallow the memory. */
export const maxRecordLength = 64 * 1024 * 1024;

const newline = 0x0a;

/**
 * Splits a text in UTF-8 into lines at LF, leaving a CR before it to the caller and dropping a byte
 * order mark. Lines come by the chunk, of which they are parts: an await for each would cost more than to split it.
 *
 * @throws {DataError} If a line is not UTF-8 or longer than {@linkcode maxRecordLength}.
 */
export async function* textLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Line[], void, undefined> {
  let number = 1;
  // Pieces of a line that runs over chunks; joined once, so that a long line costs linear time.
  let pieces: Uint8Array[] = [];
  let pending = 0;
  const line = (last: Uint8Array): Line => {
    const bytes = pieces.length === 0 ? last : joined([...pieces, last]);
    pieces = [];
    pending = 0;
    return { number, bytes: number++ === 1 ? withoutByteOrderMark(bytes) : bytes };
  };
  for await (const chunk of chunks) {
    const lines: Line[] = [];
    let start = 0;
    let second = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      lines.push(line(chunk.subarray(start, end)));
      start = end + 1;
      if (lines.length === 1) second = start;
    }
    if (lines.length > 0) yield checked(lines, chunk.subarray(second, start), name);
    if (start < chunk.length) {
      pieces.push(chunk.slice(start));
      pending += chunk.length - start;
      if (pending > maxRecordLength) {
        throw new DataError(
          `Cannot read "${name}": line ${number} is longer than ${maxRecordLength} bytes`,
        );
      }
    }
  }
  if (pending > 0) yield checked([line(new Uint8Array())], new Uint8Array(), name);
}

/** A text in UTF-8 without the byte order mark that it may begin with. */
export function withoutByteOrderMark(bytes: Uint8Array): Uint8Array {
  const marked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return marked ? bytes.subarray(3) : bytes;
}

/** Lines, if they are UTF-8; `rest` is the second to the last with their line ends, checked at once. */
function checked(lines: Line[], rest: Uint8Array, name: string): Line[] {
  if (isUtf8(lines[0]!.bytes) && isUtf8(rest)) return lines;
  const wrong = lines.find(({ bytes }) => !isUtf8(bytes))!;
  throw new DataError(`Cannot read "${name}": line ${wrong.number} is not UTF-8`);
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** A file's bytes, read into `room` each time or, without it, into new memory. */
async function* rawBytes(
  path: string,
  room?: Uint8Array<ArrayBuffer>,
): AsyncGenerator<Uint8Array, void, undefined> {
  using file = await Deno.open(path);
  while (true) {
    const buffer = room ?? new Uint8Array(chunkSize);
    const read = await file.read(buffer);
    if (read === null) return;
    yield buffer.subarray(0, read);
  }
}

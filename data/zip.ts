/**
 * Documents out of zip archives, without unpacking them to files.
 *
 * @module
 */
import { crc32, inflateRawSync } from "node:zlib";
import { type Member, MemberNames } from "./archive.ts";
import { DataError, type DataFile, tooLarge, unpackedBound } from "./lines.ts";

interface Entry {
  readonly name: string;
  readonly method: number;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  /** Where its local header starts. */
  readonly at: number;
  readonly directory: boolean;
}

const endSize = 22;
const maxCommentBytes = 0xffff;
const directoryEntrySize = 46;
const localHeaderSize = 30;
const maxDirectoryBytes = 512 * 1024 * 1024;

/**
 * Gives a zip archive's files that `wanted` selects, in the order of its directory, each checked
 * against its CRC-32. Stored and deflated members are read; zip64, encryption and archives in
 * several parts are refused.
 *
 * @throws {DataError} If the archive is damaged; if a member is a link or a device; if a name leads
 * out of the archive or occurs twice; if members overlap; if more is unpacked than allowed.
 */
export function* zipMembers(
  file: DataFile,
  wanted: (name: string) => boolean,
): Generator<Member[], void, undefined> {
  using handle = Deno.openSync(file.path);
  const fail = (what: string, cause?: unknown): never => {
    throw new DataError(`Cannot read "${file.name}": not an intact zip archive: ${what}`, {
      cause,
    });
  };
  const length = handle.statSync().size;
  const read = (at: number, size: number): DataView<ArrayBuffer> => {
    if (at < 0 || size < 0 || at + size > length) fail(`bytes ${at} to ${at + size} are not there`);
    const bytes = new Uint8Array(size);
    handle.seekSync(at, Deno.SeekMode.Start);
    for (let done = 0; done < size;) {
      const count = handle.readSync(bytes.subarray(done));
      if (count === null) return fail("it ends early");
      done += count;
    }
    return new DataView(bytes.buffer);
  };
  const entries = readDirectory({ file, length, read, fail });
  const allowed = unpackedBound(file);
  let total = 0;
  for (const entry of entries) {
    total += entry.size;
    if (total > allowed) throw new DataError(tooLarge(file.name, allowed));
  }
  for (const entry of entries) {
    if (entry.directory || !wanted(entry.name)) continue;
    const local = read(entry.at, localHeaderSize);
    if (local.getUint32(0, true) !== 0x04034b50) fail(`"${entry.name}" has no local header`);
    const start = entry.at + localHeaderSize + local.getUint16(26, true) +
      local.getUint16(28, true);
    const packed = new Uint8Array(read(start, entry.packed).buffer);
    let bytes: Uint8Array = packed;
    if (entry.method === 8) {
      try {
        // One byte more than declared shows a member that unpacks to too much.
        bytes = inflateRawSync(packed, { maxOutputLength: entry.size + 1 });
      } catch (cause) {
        fail(`"${entry.name}" does not unpack to ${entry.size} bytes`, cause);
      }
    }
    if (bytes.length !== entry.size) fail(`"${entry.name}" is not ${entry.size} bytes long`);
    if (crc32(bytes) !== entry.crc) fail(`"${entry.name}" does not match its CRC-32`);
    yield [{ name: entry.name, bytes }];
  }
}

interface Reader {
  readonly file: DataFile;
  readonly length: number;
  read(at: number, size: number): DataView<ArrayBuffer>;
  fail(what: string): never;
}

function readDirectory(reader: Reader): Entry[] {
  const { file, read, fail } = reader;
  const { count, size, start } = readEnd(reader);
  const directory = read(start, size);
  const names = new MemberNames(file.name);
  const entries: Entry[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    if (at + directoryEntrySize > size || directory.getUint32(at, true) !== 0x02014b50) {
      fail(`directory entry ${i} is malformed`);
    }
    const lengths = [28, 30, 32].map((offset) => directory.getUint16(at + offset, true));
    const [nameLength = 0] = lengths;
    const next = at + directoryEntrySize + lengths.reduce((sum, length) => sum + length, 0);
    if (next > size) fail(`directory entry ${i} is malformed`);
    const nameBytes = new Uint8Array(directory.buffer, at + directoryEntrySize, nameLength);
    const raw = new TextDecoder().decode(nameBytes);
    const name = names.check(raw, refusedType(directory, at));
    const entry = {
      name,
      method: directory.getUint16(at + 10, true),
      crc: directory.getUint32(at + 16, true),
      packed: directory.getUint32(at + 20, true),
      size: directory.getUint32(at + 24, true),
      at: directory.getUint32(at + 42, true),
      directory: raw.endsWith("/"),
    };
    if (directory.getUint16(at + 8, true) & 1) fail(`"${name}" is encrypted`);
    if (entry.method !== 0 && entry.method !== 8) {
      fail(`"${name}" is compressed by method ${entry.method}, not stored or deflated`);
    }
    if (entry.packed === 0xffffffff || entry.size === 0xffffffff) fail("zip64 is not supported");
    entries.push(entry);
    at = next;
  }
  const byPlace = entries.toSorted((a, b) => a.at - b.at);
  for (const [i, entry] of byPlace.entries()) {
    const after = byPlace[i + 1]?.at ?? start;
    if (entry.at + localHeaderSize + entry.packed > after) {
      fail(`"${entry.name}" overlaps the next`);
    }
  }
  return entries;
}

/** Number of the directory's entries, its bytes and where it starts, by the record at the end. */
function readEnd({ length, read, fail }: Reader): { count: number; size: number; start: number } {
  const tailSize = Math.min(length, endSize + maxCommentBytes);
  const tail = read(length - tailSize, tailSize);
  let end = tailSize - endSize;
  // The comment after the end record must fill the file, or the record is part of the comment.
  while (
    end >= 0 && !(tail.getUint32(end, true) === 0x06054b50 &&
      end + endSize + tail.getUint16(end + 20, true) === tailSize)
  ) end--;
  if (end < 0) fail("no end record");
  const count = tail.getUint16(end + 10, true);
  const size = tail.getUint32(end + 12, true);
  const start = tail.getUint32(end + 16, true);
  if (tail.getUint16(end + 4, true) !== 0 || tail.getUint16(end + 8, true) !== count) {
    fail("it is one of several parts");
  }
  if (count === 0xffff || size === 0xffffffff || start === 0xffffffff) {
    fail("zip64 is not supported");
  }
  if (size > maxDirectoryBytes) fail(`its directory has ${size} bytes`);
  if (start + size > length - tailSize + end) fail("its directory overlaps its end record");
  return { count, size, start };
}

/** What a member is by its Unix mode, if that is neither file nor directory. */
function refusedType(directory: DataView, at: number): string | undefined {
  const madeByUnix = directory.getUint8(at + 5) === 3;
  const type = (directory.getUint32(at + 38, true) >>> 16) & 0xf000;
  if (!madeByUnix || type === 0 || type === 0x8000 || type === 0x4000) return undefined;
  return type === 0xa000 ? "symlink" : `mode ${type.toString(8)}`;
}

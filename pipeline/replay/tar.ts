/**
 * Tar archives (POSIX ustar) in the one form that is written here: plain files with fixed fields, so
 * that names and contents give the bytes, and every other byte is noticed when an archive is read.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { type Archive, partOf } from "./archive.ts";

/** A file of an archive. */
export interface Member {
  /** At most 100 ASCII characters. */
  readonly name: string;
  readonly content: Uint8Array<ArrayBuffer>;
}

/** Bytes that are not an archive as it is written here. */
export class TarError extends LockstepError {
  override name = "TarError";
}

const BLOCK = 512;
const MAX_NAME = 100;

/** The bytes before a file's content. */
export function tarHeader(name: string, size: number): Uint8Array<ArrayBuffer> {
  if (!/^[\x21-\x7e]+$/.test(name) || name.length > MAX_NAME) {
    throw new RangeError(`Cannot archive "${name}": its name must be 1 to 100 ASCII characters`);
  }
  const header = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => header.set(new TextEncoder().encode(text), at);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, "0");
  put(0, name);
  put(100, "0000644\0" + "0000000\0" + "0000000\0"); // mode, owner, group
  put(124, octal(size, 11) + " " + octal(0, 11) + " "); // size, time
  put(148, " ".repeat(8)); // the checksum, while it is taken
  put(156, "0" + "\0".repeat(100) + "ustar\0" + "00"); // a plain file; no link; the format
  put(148, octal(header.reduce((sum, byte) => sum + byte), 6) + "\0 ");
  return header;
}

/** The bytes after a file's content. */
export function tarPadding(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array((BLOCK - size % BLOCK) % BLOCK);
}

/** The bytes after the last file. */
export function tarEnd(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(2 * BLOCK);
}

/** A file in an archive. */
export interface Entry {
  readonly name: string;
  readonly content: Archive;
}

/**
 * The files of an archive, in its order.
 *
 * @throws {TarError} If any byte is another than {@linkcode tarHeader} and the others write.
 */
export function readTar(archive: Archive): Entry[] {
  const entries: Entry[] = [];
  const names = new Set<string>();
  let at = 0;
  const expect = (bytes: Uint8Array, what: string) => {
    const found = archive.read(at, at + bytes.length);
    const wrong = bytes.findIndex((byte, index) => byte !== found[index]);
    if (wrong < 0) return at += bytes.length;
    throw new TarError(
      `Cannot read the archive: byte ${at + wrong} must be ${bytes[wrong]}, of ${what}, found ` +
        `${found[wrong] ?? "the end"}`,
    );
  };
  for (;;) {
    const header = archive.read(at, at + BLOCK);
    if (header[0] === 0) break;
    const text = new TextDecoder("latin1").decode(header);
    const name = text.slice(0, MAX_NAME).split("\0")[0]!;
    const bytes = parseInt(text.slice(124, 135), 8);
    if (header.length < BLOCK || !/^[\x21-\x7e]+$/.test(name) || !(bytes >= 0)) {
      throw new TarError(`Cannot read the archive: at byte ${at} there must be a file's header`);
    }
    if (names.has(name)) throw new TarError(`Cannot read the archive: "${name}" is there twice`);
    names.add(name);
    expect(tarHeader(name, bytes), `the header of ${name}`);
    const from = at, held = Math.max(0, Math.min(bytes, archive.length - from));
    if (held < bytes) {
      throw new TarError(
        `Cannot read the archive: ${name} must have ${bytes} bytes, found ${held}`,
      );
    }
    at += bytes;
    expect(tarPadding(bytes), `what fills up ${name}`);
    entries.push({ name, content: partOf(archive, from, bytes) });
  }
  expect(tarEnd(), "the archive's end");
  if (at < archive.length) {
    throw new TarError(
      `Cannot read the archive: it must end at byte ${at}, found ${archive.length - at} more`,
    );
  }
  return entries;
}

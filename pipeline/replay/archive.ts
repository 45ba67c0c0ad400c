/**
 * Where an archive's bytes are: in memory, or in a file of which parts are read when they are asked for, so
 * that it may be larger than memory.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { Sha256 } from "../key/hash.ts";
import { LockstepError } from "../errors.ts";

/** See the module's comment. */
export interface Archive {
  readonly length: number;
  /** The bytes of a part; fewer where the archive ends. */
  read(from: number, to: number): Uint8Array<ArrayBuffer>;
}

/** An archive in memory, with which its parts share it. */
export function inMemory(bytes: Uint8Array<ArrayBuffer>): Archive {
  return { length: bytes.length, read: (from, to) => bytes.subarray(from, to) };
}

/** An archive in a file, which stays open while it is read. */
export function inFile(file: Deno.FsFile): Archive {
  const length = file.statSync().size;
  return {
    length,
    read(from, to) {
      const part = new Uint8Array(Math.max(0, Math.min(to, length) - from));
      file.seekSync(from, Deno.SeekMode.Start);
      for (let done = 0; done < part.length;) {
        const read = file.readSync(part.subarray(done));
        if (read === null) {
          throw new LockstepError("Cannot read the archive: it became shorter while it was read");
        }
        done += read;
      }
      return part;
    },
  };
}

/** A part of an archive. */
export function partOf(archive: Archive, from: number, length: number): Archive {
  return {
    length,
    read: (start, end) => archive.read(from + start, from + Math.min(end, length)),
  };
}

const CHUNK_BYTES = 1 << 20;

/** The digest of a whole archive, or of a part as it is, read in pieces. */
export function digestOf(archive: Archive): Sha256 {
  const whole = createHash("sha256");
  for (let at = 0; at < archive.length; at += CHUNK_BYTES) {
    whole.update(archive.read(at, at + CHUNK_BYTES));
  }
  return whole.digest("hex") as Sha256;
}

/**
 * Files as they were read for a bundle. Each is read once, after its stat was taken: whatever is
 * written later gives another stat, so no edit can hide behind the record.
 *
 * @module
 */
import { sameStat, type Stat, statOf } from "../files.ts";
import { ConfigError } from "./../errors.ts";
import { type Sha256, sha256 } from "./hash.ts";

/** One file as it was read. */
export interface SourceFile {
  /** As it was before the file was read. */
  readonly stat: Stat;
  readonly sha256: Sha256;
}

/** What is known of files read before. */
export interface SourceRecord {
  /** Milliseconds since 1970, before the first file was read. */
  readonly at: number;
  /** Absolute path to the file as it was read. */
  readonly files: Readonly<Record<string, SourceFile>>;
}

/**
 * A file that was written this shortly before its stat was taken may be written again without a
 * new time: clocks of file systems tick in steps of up to two seconds. Its content decides.
 */
const RECENT_MS = 2000;

/** Reads files and remembers what they were. */
export class SourceFiles {
  readonly #at = Date.now();
  readonly #contents = new Map<string, Uint8Array<ArrayBuffer>>();
  readonly #files = new Map<string, SourceFile>();

  /**
   * The content of a file, the same each time.
   *
   * @throws {ConfigError} If there is no such file.
   */
  read(path: string): Uint8Array<ArrayBuffer> {
    const known = this.#contents.get(path);
    if (known) return known;
    const stat = statOf(path);
    if (!stat) throw new ConfigError(`Cannot read ${path}: there is no such file`);
    const content = Deno.readFileSync(path);
    this.#contents.set(path, content);
    this.#files.set(path, { stat, sha256: sha256(content) });
    return content;
  }

  /** The digest of a file that was read. */
  digest(path: string): Sha256 {
    this.read(path);
    return this.#files.get(path)!.sha256;
  }

  /** The files that were written since they were read. */
  edited(): string[] {
    return [...this.#files].filter(([path, { stat }]) => {
      const now = statOf(path);
      return now === undefined || !sameStat(now, stat);
    }).map(([path]) => path);
  }

  /** What to keep of the files at some paths. */
  record(paths: Iterable<string>): SourceRecord {
    const files: Record<string, SourceFile> = {};
    for (const path of paths) {
      const file = this.#files.get(path);
      if (file) files[path] = file;
    }
    return { at: this.#at, files };
  }
}

/**
 * Whether every file of a record has the content it had: by its stat where that tells, else by
 * reading it. Paths that were looked at before are not looked at twice.
 */
export function unchangedSince({ at, files }: SourceRecord, seen: Map<string, boolean>): boolean {
  return Object.entries(files).every(([path, { stat, sha256: digest }]) => {
    const id = `${path}\n${digest}`;
    let same = seen.get(id);
    if (same === undefined) seen.set(id, same = isUnchanged(path, { stat, digest, at }));
    return same;
  });
}

function isUnchanged(
  path: string,
  { stat, digest, at }: { stat: Stat; digest: Sha256; at: number },
): boolean {
  const now = statOf(path);
  if (!now) return false;
  if (sameStat(now, stat) && Math.max(now.mtime, now.ctime) < at - RECENT_MS) return true;
  return sha256(Deno.readFileSync(path)) === digest;
}

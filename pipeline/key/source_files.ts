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

/** What is found out about files that several records name: each is looked at once. */
export class Recheck {
  readonly #at = Date.now();
  /** Path and digest to the file as it is; `undefined` if it has another content. */
  readonly #seen = new Map<string, SourceFile | undefined>();

  /**
   * A record of the same files, if all have the content they had: by their stat where that is enough, else
   * by reading them. It is the given one if nothing was read, else one that spares the reading next
   * time; `undefined` if a file has another content.
   */
  unchanged(record: SourceRecord): SourceRecord | undefined {
    const { at, files } = record;
    const now: Record<string, SourceFile> = {};
    let same = true;
    for (const [path, file] of Object.entries(files)) {
      const id = `${path}\n${file.sha256}`;
      if (!this.#seen.has(id)) this.#seen.set(id, lookAgain(path, file, at));
      const found = this.#seen.get(id);
      if (!found) return undefined;
      same &&= sameStat(found.stat, file.stat) && isSettled(found.stat, at);
      now[path] = found;
    }
    return same ? record : { at: this.#at, files: now };
  }
}

/** Whether a file was written so long before that another write has another time. */
export function isSettled(stat: Stat, at: number): boolean {
  return Math.max(stat.mtime, stat.ctime) < at - RECENT_MS;
}

/** The file as it is, the given one if its stat says so; `undefined` if its content is another. */
function lookAgain(path: string, file: SourceFile, at: number): SourceFile | undefined {
  const stat = statOf(path);
  if (!stat) return undefined;
  if (sameStat(stat, file.stat) && isSettled(stat, at)) return file;
  return sha256(Deno.readFileSync(path)) === file.sha256
    ? { stat, sha256: file.sha256 }
    : undefined;
}

/**
 * Files in memory behind the names by which stages reach files: `Deno.readFileSync` and its like. A
 * stage that runs again finds its inputs there, leaves its outputs there, and there is nothing else.
 *
 * @module
 */

/** Absolute paths to contents; to `undefined` for a folder. */
export type Files = Map<string, Uint8Array<ArrayBuffer> | undefined>;

const ERRORS = [
  "AlreadyExists",
  "BadResource",
  "InvalidData",
  "IsADirectory",
  "NotADirectory",
  "NotCapable",
  "NotFound",
  "PermissionDenied",
] as const;

/** Classes of errors with the names that Deno's have. */
const errors = Object.fromEntries(ERRORS.map((name) => {
  const named = class extends Error {
    override name = name;
  };
  return [name, named] as const;
})) as unknown as Record<typeof ERRORS[number], new (message: string) => Error>;

const SeekMode = { Start: 0, Current: 1, End: 2 } as const;

/** How a file may be opened. */
interface OpenOptions {
  readonly read?: boolean;
  readonly write?: boolean;
  readonly append?: boolean;
  readonly create?: boolean;
  readonly createNew?: boolean;
  readonly truncate?: boolean;
}

/** What stages use of Deno, over some files. */
export function denoOver(files: Files) {
  const sync = operations(files);
  const later =
    <A extends unknown[], R>(operation: (...args: A) => R) => (...args: A): Promise<R> =>
      new Promise((resolve) => resolve(operation(...args)));
  return {
    ...Object.fromEntries(
      Object.entries(sync).flatMap(([name, operation]) => [
        [`${name}Sync`, operation],
        [name, later(operation as (...args: unknown[]) => unknown)],
      ]),
    ),
    errors,
    SeekMode,
    build: { os: "linux", arch: "x86_64" },
  };
}

function operations(files: Files) {
  const absent = (path: string): Error => {
    for (let above = folderOf(path); above !== "/"; above = folderOf(above)) {
      if (files.get(above) !== undefined) return new errors.NotADirectory(`No folder: '${above}'`);
    }
    return new errors.NotFound(`Nothing is at '${path}'`);
  };
  const found = (path: string): Uint8Array<ArrayBuffer> => {
    const content = files.get(path);
    if (content !== undefined) return content;
    if (files.has(path)) throw new errors.IsADirectory(`Is a directory: '${path}'`);
    throw absent(path);
  };
  const requireFolder = (path: string): void => {
    if (!files.has(path)) throw absent(path);
    if (files.get(path) !== undefined) throw new errors.NotADirectory(`No folder: '${path}'`);
  };
  const write = (path: string, content: Uint8Array): void => {
    requireFolder(folderOf(path));
    if (files.has(path) && files.get(path) === undefined) {
      throw new errors.IsADirectory(`Is a directory: '${path}'`);
    }
    files.set(path, content.slice());
  };
  const kindOf = (path: string) => {
    const isFile = files.get(path) !== undefined;
    return { isFile, isDirectory: !isFile, isSymlink: false };
  };
  const stat = (path: string) => {
    if (!files.has(path)) throw absent(path);
    return { ...kindOf(path), size: files.get(path)?.length ?? 0 };
  };
  const makeFolder = (path: string, { recursive = false } = {}): void => {
    const isFile = files.get(path) !== undefined;
    if (isFile || files.has(path) && !recursive) {
      throw new errors.AlreadyExists(`It exists: '${path}'`);
    }
    const above = folderOf(path);
    if (recursive && !files.has(above)) makeFolder(above, { recursive });
    requireFolder(above);
    files.set(path, undefined);
  };
  return {
    stat,
    lstat: stat,
    readFile: (path: string) => found(path).slice(),
    readTextFile: (path: string) => new TextDecoder().decode(found(path)),
    writeFile: write,
    writeTextFile: (path: string, text: string) => write(path, new TextEncoder().encode(text)),
    copyFile: (from: string, to: string) => write(to, found(from)),
    mkdir: makeFolder,
    readDir(path: string) {
      requireFolder(path);
      return [...files].filter(([name]) => name !== "/" && folderOf(name) === path)
        .map(([name]) => ({ name: name.slice(name.lastIndexOf("/") + 1), ...kindOf(name) }));
    },
    remove(path: string) {
      stat(path);
      for (const name of [...files.keys()]) {
        if (name === path || name.startsWith(`${path}/`)) files.delete(name);
      }
    },
    rename(from: string, to: string) {
      write(to, found(from));
      files.delete(from);
    },
    open(path: string, options: OpenOptions = { read: true }) {
      const { create = false, createNew = false, truncate = false } = options;
      if (createNew && files.has(path)) throw new errors.AlreadyExists(`It exists: '${path}'`);
      if (createNew || truncate && files.has(path) || create && !files.has(path)) {
        write(path, new Uint8Array());
      }
      return new OpenFile(found(path), (content) => files.set(path, content), options);
    },
  };
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** An open file: as much of Deno's as stages use. */
class OpenFile {
  #content: Uint8Array<ArrayBuffer>;
  #length: number;
  #at = 0;
  readonly #keep: (content: Uint8Array<ArrayBuffer>) => void;

  constructor(
    content: Uint8Array<ArrayBuffer>,
    keep: (content: Uint8Array<ArrayBuffer>) => void,
    { append = false }: OpenOptions,
  ) {
    this.#content = content;
    this.#length = content.length;
    this.#keep = keep;
    if (append) this.#at = content.length;
  }

  readSync(into: Uint8Array): number | null {
    const piece = this.#content.subarray(this.#at, Math.min(this.#at + into.length, this.#length));
    into.set(piece);
    this.#at += piece.length;
    return piece.length === 0 && into.length > 0 ? null : piece.length;
  }

  writeSync(from: Uint8Array): number {
    const end = this.#at + from.length;
    if (end > this.#content.length) {
      // Twice as much each time: a file is written in many pieces.
      const larger = new Uint8Array(Math.max(end, 2 * this.#content.length));
      larger.set(this.#content.subarray(0, this.#length));
      this.#content = larger;
    }
    this.#content.set(from, this.#at);
    this.#at = end;
    this.#length = Math.max(this.#length, end);
    this.#keep(this.#content.subarray(0, this.#length));
    return from.length;
  }

  seekSync(offset: number, whence: number): number {
    const from = [0, this.#at, this.#length][whence]!;
    return this.#at = from + offset;
  }

  truncateSync(length = 0): void {
    const content = new Uint8Array(length);
    content.set(this.#content.subarray(0, Math.min(length, this.#length)));
    this.#content = content;
    this.#length = length;
    this.#keep(content);
  }

  statSync() {
    return { isFile: true, isDirectory: false, isSymlink: false, size: this.#length };
  }

  read = (into: Uint8Array) => Promise.resolve(this.readSync(into));
  write = (from: Uint8Array) => Promise.resolve(this.writeSync(from));
  seek = (offset: number, whence: number) => Promise.resolve(this.seekSync(offset, whence));
  truncate = (length?: number) => Promise.resolve(this.truncateSync(length));
  stat = () => Promise.resolve(this.statSync());
  sync = () => Promise.resolve();
  syncSync(): void {}
  close(): void {}
  [Symbol.dispose](): void {}
}

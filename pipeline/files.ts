/**
 * Reading a folder that others may have written to: nothing is opened before it is known to be a
 * regular file, for a pipe would hold the reader up, and links are not followed.
 *
 * @module
 */
import { LockstepError } from "./errors.ts";

/** What shows that a file was written to: nobody can set a change time. */
export interface Stat {
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtime: number;
  /** When content or inode were last changed, in milliseconds since 1970. Deno gives whole seconds. */
  readonly ctime: number;
  readonly inode: number;
}

/** The stat of a file, or `undefined` if there is none. */
export function statOf(path: string): Stat | undefined {
  try {
    return toStat(Deno.statSync(path));
  } catch (error) {
    if (isNothing(error)) return undefined;
    throw error;
  }
}

/** Whether two stats agree. */
export function sameStat(a: Stat, b: Stat): boolean {
  return a.size === b.size && a.mtime === b.mtime && a.ctime === b.ctime && a.inode === b.inode;
}

/** What is at a path. */
export interface Found {
  readonly kind: "a file" | "a folder" | "a symbolic link" | "a pipe, socket or device";
  readonly stat: Stat;
}

/** What is at a path itself, links not followed; `undefined` if nothing is. */
export function lookAt(path: string): Found | undefined {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (isNothing(error)) return undefined;
    throw error;
  }
  const kind = info.isFile
    ? "a file"
    : info.isDirectory
    ? "a folder"
    : info.isSymlink
    ? "a symbolic link"
    : "a pipe, socket or device";
  return { kind, stat: toStat(info) };
}

/** Whether an error says that nothing is at a path: a file may be where a parent folder should be. */
export function isNothing(error: unknown): boolean {
  return error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.FilesystemLoop;
}

/** What is compared to notice that a file was written to. */
export function toStat({ size, mtime, ctime, ino }: Deno.FileInfo): Stat {
  return { size, mtime: mtime?.getTime() ?? 0, ctime: ctime?.getTime() ?? 0, inode: ino ?? 0 };
}

/** No record, trace, manifest or module is that large: one that is would take long or fill memory. */
export const MAX_TEXT_BYTES = 256 << 20;

/** A file that can't be read as what it should be. */
export class UnreadableError extends LockstepError {
  override name = "UnreadableError";
}

/**
 * The text of a regular file; `undefined` if nothing is at the path.
 *
 * @throws {UnreadableError} If something else is there, or it is too large to be a text.
 */
export function readText(path: string): string | undefined {
  const bytes = readBytes(path);
  try {
    return bytes && UTF_8.decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UnreadableError(`Cannot read ${path}: it must be text in UTF-8, and is not`);
  }
}

/**
 * The bytes of a regular file; `undefined` if nothing is at the path.
 *
 * @throws {UnreadableError} If something else is there, or it is too large to be read whole.
 */
export function readBytes(path: string): Uint8Array<ArrayBuffer> | undefined {
  const found = lookAt(path);
  if (!found) return undefined;
  if (found.kind !== "a file") {
    throw new UnreadableError(`Cannot read ${path}: it must be a file, found ${found.kind}`);
  }
  if (found.stat.size > MAX_TEXT_BYTES) {
    throw new UnreadableError(
      `Cannot read ${path}: it must have at most ${MAX_TEXT_BYTES} bytes, found ${found.stat.size}`,
    );
  }
  return Deno.readFileSync(path);
}

/** Strict: of two files with unlike bytes, one at most may pass for a text. */
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Lets what waits have its turn, Ctrl-C too, in the middle of much work without a pause. */
export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

/** Whether a path is relative and names one place below a folder: no `..`, no `a//b`, no NUL. */
export function isPlainPath(path: string): boolean {
  return !path.includes("\0") &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** An entry of a folder or of one of its subfolders. */
export interface Entry {
  /** Name of the subfolder, or "" for what is in the folder itself. */
  readonly subfolder: string;
  readonly name: string;
  readonly path: string;
  readonly isFile: boolean;
}

/** What is in a folder's subfolders, and in the folder besides those, sorted. */
export function* entriesBelow(folder: string): Generator<Entry> {
  for (const first of sortedEntries(folder)) {
    const path = `${folder}/${first.name}`;
    if (!first.isDirectory) yield { subfolder: "", name: first.name, path, isFile: first.isFile };
    else {
      for (const { name, isFile } of sortedEntries(path)) {
        yield { subfolder: first.name, name, path: `${path}/${name}`, isFile };
      }
    }
  }
}

/** A folder's entries in the order of their names; none if there is no such folder. */
export function sortedEntries(folder: string): Deno.DirEntry[] {
  try {
    return [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1);
  } catch (error) {
    if (isNothing(error)) return [];
    throw error;
  }
}

/** Makes the folders of a tree ones that this user can list and change, whatever was made of them. */
export function openFolders(path: string): void {
  if (lookAt(path)?.kind !== "a folder") return;
  const { mode } = Deno.statSync(path);
  if (mode !== null && (mode & OWN_FOLDER) !== OWN_FOLDER) Deno.chmodSync(path, mode | OWN_FOLDER);
  for (const { name, isDirectory } of Deno.readDirSync(path)) {
    if (isDirectory) openFolders(`${path}/${name}`);
  }
}

/** Removes a file or a folder with all in it, read-only or not, if it is there. */
export function removeTree(path: string): void {
  try {
    openFolders(path);
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!isNothing(error)) throw error;
  }
}

/** Its owner may list a folder, change it and go through it. */
const OWN_FOLDER = 0o700;

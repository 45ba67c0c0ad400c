/**
 * Writing what a user asked to have at a path: whole, or nothing of it.
 *
 * @module
 */
import { basename, dirname, join, resolve } from "node:path";
import { isRefused, LockstepError, refusal } from "../errors.ts";
import { lookAt } from "../files.ts";

/** Puts what was made beside a path there. */
type Put = (beside: string, path: string) => void;

/**
 * Has a file or a folder made beside a path, and puts it there once it is whole.
 *
 * @param make Makes it at the path that it is handed.
 * @throws {LockstepError} If there is no room, or this user may not write there.
 */
export async function writeWhole<T>(
  path: string,
  make: (beside: string) => T | Promise<T>,
  put: Put = Deno.renameSync,
): Promise<T> {
  const target = resolve(path);
  const beside = join(dirname(target), `.${basename(target)}.${crypto.randomUUID()}`);
  const mark = `${beside}${MARK}`;
  let held: Deno.FsFile | undefined;
  const clear = () => {
    if (lookAt(beside)) Deno.removeSync(beside, { recursive: true });
    if (held !== undefined) Deno.removeSync(mark);
    held?.close();
    held = undefined;
  };
  // Where an interruption ends the process.
  globalThis.addEventListener("unload", clear);
  try {
    Deno.mkdirSync(dirname(target), { recursive: true });
    removeAbandoned(target);
    held = Deno.openSync(mark, { write: true, createNew: true });
    held.lockSync(true);
    const made = await make(beside);
    put(beside, target);
    return made;
  } catch (error) {
    throw explained(path, error);
  } finally {
    clear();
    globalThis.removeEventListener("unload", clear);
  }
}

/** What the name of a file ends with whose lock says that what is beside it is still being made. */
const MARK = ".writing";

/** Removes what processes that were killed left beside a path: nobody holds the lock of its mark. */
function removeAbandoned(target: string): void {
  const [folder, start] = [dirname(target), `.${basename(target)}.`];
  for (const { name } of Deno.readDirSync(folder)) {
    const id = name.startsWith(start) ? name.slice(start.length) : "";
    const path = join(folder, name);
    if (!MARK_NAME.test(id) || lookAt(path)?.kind !== "a file") continue;
    using file = Deno.openSync(path, { write: true });
    if (!file.tryLockSync(true)) continue;
    const beside = path.slice(0, -MARK.length);
    if (lookAt(beside)) Deno.removeSync(beside, { recursive: true });
    Deno.removeSync(path);
  }
}

const MARK_NAME = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.writing$/;

/** {@linkcode writeWhole} for a text that is there already. */
export async function writeWholeText(path: string, text: string): Promise<void> {
  await writeWhole(path, (beside) => {
    using file = Deno.openSync(beside, { write: true, createNew: true });
    const bytes = new TextEncoder().encode(text);
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
    file.syncSync();
  });
}

/** Puts a folder's files where there may be others, which stay. */
export function putAmong(beside: string, path: string): void {
  if (!isFolder(beside) || !isFolder(path)) return Deno.renameSync(beside, path);
  for (const { name } of Deno.readDirSync(beside)) putAmong(join(beside, name), join(path, name));
  Deno.removeSync(beside);
}

function isFolder(path: string): boolean {
  return lookAt(path) !== undefined && Deno.statSync(path).isDirectory;
}

/** Puts a folder in the place of one. */
export function putInstead(beside: string, path: string): void {
  const old = `${beside}.old`;
  if (lookAt(path)) Deno.renameSync(path, old);
  Deno.renameSync(beside, path);
  if (lookAt(old)) Deno.removeSync(old, { recursive: true });
}

function explained(path: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const isFull = refusal(error.message) === "full";
  if (error instanceof LockstepError || !isFull && !isRefused(error)) return error;
  const [rule, todo] = isFull
    ? ["there must be room for it", "free some"]
    : ["this user must be able to write there", "make the place writable"];
  return new LockstepError(
    `Cannot write ${path}: ${rule}, found "${error.message}"; ${todo}, or give another path`,
    { cause: error },
  );
}

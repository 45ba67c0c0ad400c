/**
 * Removes what nothing keeps. While it does, nothing is put into the store nor looked at to be reused,
 * so beside a run that goes on it sees all that the run counts on; killed between any two files it
 * leaves traces with all they name, and blobs that nothing names.
 *
 * @module
 */
import { LockstepError, refusal } from "../errors.ts";
import { pause, removeTree } from "../files.ts";
import { latestPath, writeLatest } from "../store/latest.ts";
import { type HeldLock, isHeld, type Owner, thisOwner, tryLock } from "../store/mutex.ts";
import { holdForRemoval } from "../store/removal_lock.ts";
import { holdForRun } from "../store/run_lock.ts";
import { syncFolder } from "../store/sealed.ts";
import { locksFolder, type Workspace } from "../store/workspace.ts";
import { findGarbage, type Garbage, type Request } from "./garbage.ts";
import type { Item } from "./kinds.ts";

/** What was found, and what of it was removed. */
export interface Collected extends Garbage {
  readonly removed: readonly Item[];
}

/**
 * Finds what can go, and removes it.
 *
 * @param remove Removes a file, or a folder with all in it.
 * @throws {LockstepError} If a repair is at work, or it is not known what must be kept; nothing is
 * removed then.
 */
export async function collect(request: Request, remove = removeTree): Promise<Collected> {
  const { store } = request;
  const held = holdForRun(store);
  try {
    const alone = await holdForRemoval(store);
    try {
      const garbage = await findGarbage(request);
      return { ...garbage, removed: await removeAll(garbage, { request, remove }) };
    } finally {
      alone.release();
    }
  } finally {
    held.release();
  }
}

/** How many items go between two pauses. */
const ITEMS_A_TURN = 100;

async function removeAll(
  { items, shortened }: Garbage,
  { request: { store }, remove }: {
    readonly request: Request;
    readonly remove: (path: string) => void;
  },
): Promise<Item[]> {
  // A record must not name what is gone.
  for (const run of shortened) {
    keepingTime(
      latestPath(`${run.experiment}.${run.profile}`, store),
      () => writeLatest(run, store),
    );
  }
  const removed: Item[] = [];
  let isSynced = false;
  for (const [index, item] of items.entries()) {
    if (index % ITEMS_A_TURN === 0) await pause();
    if (item.kind === "blob" && !isSynced) {
      // A power cut must not bring a trace back whose blobs are gone.
      for (const path of foldersOf(removed)) syncFolder(path);
      isSynced = true;
    }
    if (await removeOne(item, { store, remove })) removed.push(item);
  }
  return removed;
}

/** Removes an item, unless a process began to work on it. */
async function removeOne(
  item: Item,
  { store, remove }: { readonly store: Workspace; readonly remove: (path: string) => void },
): Promise<boolean> {
  const lock = item.lock === undefined ? undefined : await lockOf(item.lock, store);
  if (lock && !isHeld(lock)) return false;
  try {
    remove(item.path);
    return true;
  } catch (error) {
    throw explained(item, error);
  } finally {
    lock?.release();
  }
}

/** A lock, or who has it; on a full disk, where none can be written, it counts as somebody's. */
async function lockOf(name: string, store: Workspace): Promise<HeldLock | Owner> {
  try {
    return await tryLock(locksFolder(store), name);
  } catch (error) {
    if (error instanceof Error && refusal(error.message) === "full") return thisOwner();
    throw error;
  }
}

/** The order of runs goes by their records' times. */
function keepingTime(path: string, write: () => void): void {
  const { atime, mtime } = Deno.statSync(path);
  write();
  if (atime && mtime) Deno.utimeSync(path, atime, mtime);
}

function foldersOf(items: readonly Item[]): Set<string> {
  return new Set(
    items.filter(({ kind }) => kind === "trace").map(({ path }) =>
      path.slice(0, path.lastIndexOf("/"))
    ),
  );
}

function explained(item: Item, error: unknown): unknown {
  if (!(error instanceof Deno.errors.PermissionDenied)) return error;
  return new LockstepError(
    `Cannot remove ${item.path}: the system refused: ${error.message}; make its folder writable for ` +
      'this user and run "deno task gc --delete" again: what was removed so far is gone, and all ' +
      "that is kept is intact",
    { cause: error },
  );
}

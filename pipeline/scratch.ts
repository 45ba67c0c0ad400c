/**
 * Scratch folders: one per process, cleared when it ends, or by the next run if it was killed.
 *
 * @module
 */
import { join } from "node:path";
import { isHeld, tryLock } from "./mutex.ts";
import type { Store } from "./store.ts";

/** This process's scratch folder. */
export interface Scratch {
  /** A new empty folder. */
  folder(): string;
  remove(folder: string): void;
  /** Removes everything. */
  close(): void;
}

/** Opens a scratch folder and clears those that dead processes left behind. */
export async function openScratch(store: Store): Promise<Scratch> {
  const root = join(store.root, "scratch");
  const locks = join(store.root, "locks");
  // Random: process ids may coincide where containers share a store. It reaches no artifact.
  const own = `scratch-${crypto.randomUUID()}`;
  const lock = await tryLock(locks, own);
  if (!isHeld(lock)) throw new Error(`Scratch folder ${own} is held by process ${lock.pid}`);
  for (const { name } of Deno.readDirSync(root)) {
    if (name === own) continue;
    const dead = await tryLock(locks, name);
    if (!isHeld(dead)) continue;
    removeTree(join(root, name));
    dead.release();
  }
  Deno.mkdirSync(join(root, own));
  let count = 0;
  return {
    folder() {
      const path = join(root, own, String(count++));
      Deno.mkdirSync(path);
      return path;
    },
    remove: removeTree,
    close() {
      removeTree(join(root, own));
      lock.release();
    },
  };
}

function removeTree(path: string): void {
  try {
    Deno.removeSync(path, { recursive: true });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * Scratch folders: one per process, cleared when it ends, or by the next run if it was killed. The
 * same for checkpoint folders in which nothing was saved, or nothing since the key's result was written;
 * one that holds a state to go on from is kept for its key.
 *
 * @module
 */
import { join } from "node:path";
import { lookAt, openFolders, removeTree } from "../files.ts";
import { type Modules, writeModules } from "../store/code.ts";
import { isHeld, isLocked, tryLock } from "../store/mutex.ts";
import { tracePath } from "../store/traces.ts";
import { checkpointPath, locksFolder, type Workspace } from "../store/workspace.ts";
import { OWNER_FILE } from "./executor.ts";

/** This process's scratch folder. */
export interface Scratch {
  /** A new empty folder. */
  folder(): string;
  /**
   * The module of a bundle, written and verified once, in a folder of its own: what Deno makes of it
   * serves all instances that run it.
   */
  module(bundle: Modules): string;
  /** A folder for what Deno makes of modules. */
  readonly cache: string;
  remove(folder: string): void;
  /** Removes everything. */
  close(): void;
}

/**
 * Opens a scratch folder and clears those that dead processes left behind.
 *
 * @param o.alone Whether others' are left alone, as by one of many that start at a time.
 */
export async function openScratch(
  workspace: Workspace,
  { alone = false }: { readonly alone?: boolean } = {},
): Promise<Scratch> {
  const root = join(workspace.root, "scratch");
  const locks = locksFolder(workspace);
  // Random: process ids may coincide where containers share a store. It reaches no artifact.
  const own = `scratch-${crypto.randomUUID()}`;
  const lock = await tryLock(locks, own);
  if (!isHeld(lock)) throw new Error(`Scratch folder ${own} is held by process ${lock.pid}`);
  if (!alone) await clear(workspace);
  Deno.mkdirSync(join(root, own));
  let count = 0;
  const folder = () => {
    const path = join(root, own, String(count++));
    Deno.mkdirSync(path);
    return path;
  };
  const modules = new Map<string, string>();
  return {
    folder,
    module(bundle) {
      const name = `${bundle.code} ${bundle.packages}`;
      const module = modules.get(name) ?? writeModules(workspace, bundle, folder());
      modules.set(name, module);
      return module;
    },
    cache: folder(),
    remove: removeTree,
    close() {
      removeTree(join(root, own));
      lock.release();
    },
  };
}

/** Removes what dead processes left. */
async function clear(workspace: Workspace): Promise<void> {
  const root = join(workspace.root, "scratch");
  const locks = locksFolder(workspace);
  for (const { name } of Deno.readDirSync(root)) {
    const dead = await tryLock(locks, name);
    if (!isHeld(dead)) continue;
    removeTree(join(root, name));
    dead.release();
  }
  for (const { name: key } of Deno.readDirSync(join(workspace.root, "checkpoints"))) {
    const unused = await tryLock(locks, key);
    if (!isHeld(unused)) continue;
    await dropCheckpoints(workspace, key);
    unused.release();
  }
}

/**
 * Removes a key's checkpoint folder if no state was saved in it, or none since its result was written:
 * that is what a run left which was killed in between, and who computes the result again to compare
 * must not begin at its end. Nothing is removed while a process is still ending there. The caller
 * holds the key's lock.
 */
export async function dropCheckpoints(workspace: Workspace, key: string): Promise<void> {
  const folder = checkpointPath(workspace, key);
  if (lookAt(folder)?.kind !== "a folder") return;
  openFolders(folder);
  const owner = join(folder, OWNER_FILE);
  if (lookAt(owner)?.kind === "a file") Deno.chmodSync(owner, 0o644);
  const mtime = (path: string) => lookAt(path)?.stat.mtime ?? -Infinity;
  const done = mtime(tracePath(workspace.root, key));
  const states = [...Deno.readDirSync(folder)].filter(({ name }) => name !== OWNER_FILE);
  if (states.some(({ name }) => mtime(join(folder, name)) > done)) return;
  if (!await isLocked(folder, OWNER_FILE)) removeTree(folder);
}

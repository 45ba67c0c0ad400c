/**
 * A lock per key, so that two runs on one store share work instead of fighting.
 *
 * The kernel's advisory file lock decides: it ends with its process, however that ends, so a dead
 * owner's lock is free at once. The file's text says who holds it, for people.
 *
 * @module
 */
import { join } from "node:path";
import { isNothing, lookAt } from "../files.ts";
import { namingPath } from "./sealed.ts";

/** Who holds a lock. */
export interface Owner {
  readonly pid: number;
  /** Changes with every boot: a process id alone does not name a process. */
  readonly boot: string;
}

/** A held lock; release it when done. */
export interface HeldLock {
  release(): void;
}

/** This process. */
export function thisOwner(): Owner {
  return { pid: Deno.pid, boot: bootId() };
}

let boot: string | undefined;
function bootId(): string {
  try {
    boot ??= Deno.readTextFileSync("/proc/sys/kernel/random/boot_id").trim();
  } catch {
    boot = "unknown";
  }
  return boot;
}

/**
 * Opens a file to lock it. What is no file there is removed: nothing is kept in locks, and opening a
 * pipe would wait for a reader.
 */
export function openLockFile(path: string): Deno.FsFile {
  const found = lookAt(path);
  if (found && found.kind !== "a file") Deno.removeSync(path);
  return Deno.openSync(path, { read: true, write: true, create: true });
}

/** Takes a lock at once, or returns who holds it. */
export async function tryLock(folder: string, name: string): Promise<HeldLock | Owner> {
  const path = join(folder, name);
  for (;;) {
    const file = openLockFile(path);
    if (!(await file.tryLock(true))) {
      file.close();
      return readOwner(path);
    }
    // The last owner removed the file between our opening and locking it: that lock excludes none.
    const [held, named] = [await file.stat(), await Deno.stat(path).catch(() => undefined)];
    if (!named || held.ino !== named.ino) {
      file.close();
      continue;
    }
    const release = () => {
      Deno.removeSync(path);
      file.close();
    };
    try {
      await file.truncate();
      await file.write(new TextEncoder().encode(JSON.stringify(thisOwner())));
    } catch (error) {
      release();
      throw namingPath(error, path);
    }
    return { release };
  }
}

/** Whether {@linkcode tryLock} got the lock. */
export function isHeld(lock: HeldLock | Owner): lock is HeldLock {
  return "release" in lock;
}

/** Whether a living process holds a lock. Reads only, and takes nothing. */
export async function isLocked(folder: string, name: string): Promise<boolean> {
  const path = join(folder, name);
  if (lookAt(path)?.kind !== "a file") return false;
  const file = await Deno.open(path).catch((error) => {
    // Released since.
    if (isNothing(error)) return undefined;
    throw error;
  });
  if (!file) return false;
  // Shared, and released with the file: who looks at the same time is not in the way.
  const free = await file.tryLock(false);
  file.close();
  return !free;
}

/** As {@linkcode isLocked}, for who may not wait. */
export function isLockedNow(folder: string, name: string): boolean {
  const path = join(folder, name);
  if (lookAt(path)?.kind !== "a file") return false;
  try {
    using file = Deno.openSync(path);
    return !file.tryLockSync(false);
  } catch (error) {
    if (isNothing(error)) return false;
    throw error;
  }
}

function readOwner(path: string): Owner {
  try {
    return JSON.parse(Deno.readTextFileSync(path));
  } catch {
    return { pid: 0, boot: "unknown" };
  }
}

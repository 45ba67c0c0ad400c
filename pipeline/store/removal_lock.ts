/**
 * A lock that keeps what is being put into a store, or looked at before it is reused, from being
 * removed meanwhile: shared for those moments, and held alone by whoever removes results. It is not held
 * while a stage runs, so results can be removed beside a run that goes on for days.
 *
 * @module
 */
import { join } from "node:path";
import { isRefused, refusal } from "../errors.ts";
import { lookAt } from "../files.ts";
import { type HeldLock, openLockFile } from "./mutex.ts";
import type { Workspace } from "./workspace.ts";

type Place = Pick<Workspace, "root">;

/** Waits until nothing is being removed, and keeps it so until it is released. */
export async function holdOffRemoval({ root }: Place): Promise<HeldLock> {
  return await lockFile(openLockFile(lockPath(root)), { alone: false });
}

/** The same for who only reads: where nothing can be written it does without, if nothing was removed yet. */
export async function holdOffRemovalToRead({ root }: Place): Promise<HeldLock> {
  if (lookAt(lockPath(root))?.kind === "a file") {
    return await lockFile(Deno.openSync(lockPath(root)), { alone: false });
  }
  try {
    return await holdOffRemoval({ root });
  } catch (error) {
    if (isRefused(error) || error instanceof Error && refusal(error.message) === "full") {
      return { release: () => {} };
    }
    throw error;
  }
}

/** Waits until nothing is being put or looked at, and keeps it so until it is released. */
export async function holdForRemoval({ root }: Place): Promise<HeldLock> {
  return await lockFile(openLockFile(lockPath(root)), { alone: true });
}

function lockPath(root: string): string {
  return join(root, "removal.lock");
}

async function lockFile(file: Deno.FsFile, { alone }: { alone: boolean }): Promise<HeldLock> {
  await file.lock(alone);
  return { release: () => file.close() };
}

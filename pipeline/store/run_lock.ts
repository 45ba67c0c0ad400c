/**
 * A lock on a whole store: shared by the runs that write to it, and held alone by whoever removes
 * files that no trace names, for those of a run that goes on are not named yet.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { type HeldLock, openLockFile } from "./mutex.ts";
import type { Workspace } from "./workspace.ts";

/**
 * Takes the lock for a run.
 *
 * @throws {LockstepError} If a repair is at work.
 */
export function holdForRun(workspace: Workspace): HeldLock {
  return tryHoldForRun(workspace) ?? refuse(
    `Cannot run on the store at ${workspace.root}: "audit --repair" is at work on it; run again when ` +
      "it has ended",
  );
}

/** The same at once or, while a repair is at work, not at all. */
export function tryHoldForRun(workspace: Workspace): HeldLock | undefined {
  return hold(workspace, { alone: false });
}

/**
 * Takes the lock for a repair.
 *
 * @throws {LockstepError} If a run goes on.
 */
export function holdForRepair(workspace: Workspace): HeldLock {
  return hold(workspace, { alone: true }) ?? refuse(
    `Cannot repair the store at ${workspace.root}: no run may go on meanwhile, and one does; repair ` +
      "when it has ended",
  );
}

function hold(workspace: Workspace, { alone }: { alone: boolean }): HeldLock | undefined {
  const file = openLockFile(join(workspace.root, "run.lock"));
  if (file.tryLockSync(alone)) return { release: () => file.close() };
  file.close();
  return undefined;
}

function refuse(message: string): never {
  throw new LockstepError(message);
}

/**
 * The folder on this machine that a store's runs work in: what another machine could make nothing of.
 * Locks, scratch, checkpoints, the records of the latest runs, what is published, damaged files.
 *
 * @module
 */
import { join } from "node:path";

/** See the module's comment. */
export interface Workspace {
  readonly root: string;
  /** Moves a damaged file out of the way, keeping it for a look; who only reads just reports it. */
  setAside(path: string, message: string): void;
}

/** Where the checkpoints of a key are kept. */
export function checkpointPath(workspace: Workspace, key: string): string {
  return join(workspace.root, "checkpoints", key);
}

/** The folder of locks between processes. */
export function locksFolder(workspace: Workspace): string {
  return join(workspace.root, "locks");
}

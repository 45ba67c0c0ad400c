/**
 * The folder on this machine that a store's runs work in: what another machine could make nothing of.
 * Locks, scratch, checkpoints, the records of the latest runs, what is published, damaged files.
 *
 * @module
 */
import { join } from "node:path";
import { lookAt } from "../files.ts";

/** See the module's comment. */
export interface Workspace {
  readonly root: string;
  /** Moves a damaged file out of the way, keeping it for a look; who only reads just reports it. */
  setAside(path: string, message: string): void;
}

/** Makes a folder below the workspace's; what is in its place is set aside. */
export function makeFolder(workspace: Workspace, path: string): void {
  const found = lookAt(path);
  if (found && found.kind !== "a folder") {
    workspace.setAside(path, `must be a folder, found ${found.kind}`);
  }
  Deno.mkdirSync(path, { recursive: true });
}

/** Where the checkpoints of a key are kept. */
export function checkpointPath(workspace: Workspace, key: string): string {
  return join(workspace.root, "checkpoints", key);
}

/** The folder of locks between processes. */
export function locksFolder(workspace: Workspace): string {
  return join(workspace.root, "locks");
}

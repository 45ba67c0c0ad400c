/**
 * What a run is about to write to `outputs/` and `lock/`, noted before it writes any of it and until it is
 * recorded. So what a run that is killed meanwhile leaves there is known to be its own, and nobody's edit.
 *
 * @module
 */
import { join } from "node:path";
import { isNothing, sortedEntries } from "../files.ts";
import type { Sha256 } from "../key/hash.ts";
import { type HeldLock, openLockFile } from "../store/mutex.ts";
import { readSealed, writeSealed } from "../store/sealed.ts";
import { isDigest, isRecord, isText } from "../store/shape.ts";
import { makeFolder, type Workspace } from "../store/workspace.ts";
import { isPublications, type Publications } from "./publications.ts";

/** See the module's comment. */
export interface Ending {
  /** All that is to be in `outputs/` of it. */
  readonly files: Publications;
  /** The paths of what the last run of its name published, and this one removes. */
  readonly gone: readonly string[];
  /** The digest of the lock that it writes, if it writes one. */
  readonly lock?: Sha256;
}

type Place = Pick<Workspace, "root">;

function folderOf({ root }: Place): string {
  return join(root, "endings");
}

function pathOf(run: string, workspace: Place): string {
  return join(folderOf(workspace), `${run}.json`);
}

/** Waits until no other run is ending, and keeps it so until it is released. */
export async function holdToEnd({ root }: Place): Promise<HeldLock> {
  const file = openLockFile(join(root, "ending.lock"));
  await file.lock(true);
  return { release: () => file.close() };
}

/** What a run, `fusion.smoke`, noted and did not finish. */
export function readEnding(run: string, workspace: Workspace): Ending | undefined {
  return readSealed(pathOf(run, workspace), {
    parse: toEnding,
    onDamage: (path, message) => workspace.setAside(path, message),
  });
}

/** All that runs noted and did not finish, by their names. */
export function readEndings(workspace: Workspace): ReadonlyMap<string, Ending> {
  const names = sortedEntries(folderOf(workspace)).map(({ name }) => name)
    .filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
  return new Map(names.flatMap((name) => {
    const ending = readEnding(name, workspace);
    return ending ? [[name, ending] as const] : [];
  }));
}

function toEnding(value: unknown): Ending | undefined {
  if (!isRecord(value)) return undefined;
  const { files, gone, lock } = value;
  const isEnding = isPublications(files) && Array.isArray(gone) && gone.every(isText) &&
    (lock === undefined || isDigest(lock));
  return isEnding ? value as unknown as Ending : undefined;
}

/** Notes what a run is about to write, besides what it noted before. */
export function noteEnding(run: string, ending: Partial<Ending>, workspace: Workspace): void {
  makeFolder(workspace, folderOf(workspace));
  const before = readEnding(run, workspace) ?? { files: {}, gone: [] };
  writeSealed(pathOf(run, workspace), { ...before, ...ending });
}

/** Forgets what a run noted: it wrote all of it, and is recorded. */
export function dropEnding(run: string, workspace: Place): void {
  try {
    Deno.removeSync(pathOf(run, workspace));
  } catch (error) {
    if (!isNothing(error)) throw error;
  }
}

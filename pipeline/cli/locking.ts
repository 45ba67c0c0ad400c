/**
 * The lock of a run: required before it, checked or written after it.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { ConfigError, LockstepError } from "../errors.ts";
import type { Listener } from "../event.ts";
import { lookAt } from "../files.ts";
import { hashFile, type Sha256, sha256 } from "../key/hash.ts";
import { noteEnding } from "../run/ending.ts";
import type { RunOutcome } from "../run/run.ts";
import { lockedCertificatesName } from "../store/certificates.ts";
import { compareWithLock, countResults } from "../store/lock_comparison.ts";
import { formatLock, type Lock, lockName, lockOf, readLock, writeLock } from "../store/lockfile.ts";
import type { Trace } from "../store/trace.ts";
import type { Options } from "./options.ts";
import type { Project } from "./project.ts";
import type { Session } from "./session.ts";
import { withoutCertified } from "./locking_within.ts";

/** Which run it is. */
export function identityOf({ experiment, platform }: Session) {
  return { experiment: experiment.name, profile: experiment.profile, backend: platform.backend };
}

function lockPath(project: Project, session: Session): string {
  return join(project.root, lockName(identityOf(session)));
}

/**
 * The lock that a run is held to: its own, else the shared one, if certificates say by how much platforms
 * differ.
 */
function checkedPath(project: Project, session: Session): string | undefined {
  const shared = join(project.root, lockName({ ...identityOf(session), backend: "wasm" }));
  const own = lockPath(project, session);
  if (lookAt(own)) return own;
  return lookAt(shared) && lookAt(lockedCertificatesName(shared)) ? shared : undefined;
}

/**
 * A missing lock is reported before hours of work, not after.
 *
 * @throws {ConfigError} If there is none.
 */
export function requireLock(project: Project, session: Session): void {
  if (checkedPath(project, session)) return;
  throw new ConfigError(
    `Cannot check against ${lockName(identityOf(session))}: there is no such lock; run without ` +
      "--locked to write it",
  );
}

/** The digest of a run's lock; `undefined` if there is none. */
export function lockDigest(project: Project, session: Session): Sha256 | undefined {
  return digestAt(lockPath(project, session));
}

function digestAt(path: string): Sha256 | undefined {
  return lookAt(path)?.kind === "a file" ? hashFile(path) : undefined;
}

/** The digest of a run's lock, if it is to the byte what a run with these results would write. */
export async function agreeingLock(
  session: Session,
  results: RunOutcome["results"],
  project: Project,
): Promise<Sha256 | undefined> {
  const { name: experiment, profile } = session.experiment;
  const text = formatLock({ experiment, profile }, await lockEntries(session, results));
  const digest = lockDigest(project, session);
  return digest === sha256(text) ? digest : undefined;
}

/** What a run is held to its lock with. */
export interface Locking {
  readonly project: Project;
  readonly options: Options;
  /** Whether these are all the run's results. */
  readonly whole: boolean;
  readonly listener: Listener;
}

/**
 * Checks a run's results against its lock, or writes them there; a changed or failed run leaves it
 * alone. Returns whether it agrees, and what the audit is to hold the file to from now on.
 */
export async function settleLock(
  session: Session,
  outcome: RunOutcome,
  { project, options, whole, listener }: Locking,
): Promise<{ readonly agrees: boolean; readonly digest: Sha256 | undefined }> {
  // The lock is what the file as it is produces on one platform: no part of a changed, failed or
  // unfinished run is.
  const unlocked = session.experiment.modified || outcome.failed > 0 || options.finished ||
    options.acceptPlatform.length > 0;
  const file: LockFile = { path: lockPath(project, session), whole, listener };
  let agrees = true;
  if (options.locked) {
    const path = checkedPath(project, session) ?? file.path;
    agrees = await checkLock(session, outcome, { ...file, path });
  } else if (!unlocked) await updateLock(session, outcome, file);
  const isHeld = agrees && !unlocked;
  return { agrees, digest: isHeld ? lockDigest(project, session) : session.latest?.lock };
}

/** A lock file and how much of it a run covers. */
interface LockFile {
  readonly path: string;
  readonly whole: boolean;
  readonly listener: Listener;
}

async function lockEntries({ store }: Session, results: RunOutcome["results"]): Promise<Lock> {
  const traces = new Map<string, Trace>();
  for (const [instance, { key }] of results) {
    const trace = await store.trace(key);
    if (trace) traces.set(instance.name, trace);
  }
  return lockOf(traces);
}

const MAX_SHOWN = 20;

async function checkLock(
  session: Session,
  outcome: RunOutcome,
  { path, whole, listener }: LockFile,
): Promise<boolean> {
  const name = `lock/${basename(path)}`;
  const lock = readLock(path, name) ?? new Map();
  const entries = await lockEntries(session, outcome.results);
  const all = compareWithLock(lock, entries, { whole });
  const { differences, notes } = await withoutCertified(all, { session, outcome, lock, path });
  const shown = differences.slice(0, MAX_SHOWN).map(({ message }) => `\n${message}`).join("");
  const more = differences.length - MAX_SHOWN;
  const message = differences.length === 0 && notes.length > 0
    ? notes.join("\n")
    : differences.length === 0
    ? `0 results differ; all ${entries.size} are as locked`
    : `${counted(countResults(differences), "differs", "differ")}:${shown}` +
      (more > 0 ? `\nand ${more} more` : "") + notes.map((note) => `\n${note}`).join("");
  listener({ event: "lock", path: name, message, holds: differences.length === 0 });
  return differences.length === 0;
}

async function updateLock(
  session: Session,
  outcome: RunOutcome,
  { path, whole, listener }: LockFile,
): Promise<void> {
  const name = `lock/${basename(path)}`;
  const entries = await lockEntries(session, outcome.results);
  const before = lockBefore(path, { name, whole });
  const lock: Lock = new Map([...whole ? [] : before ?? [], ...entries]);
  Deno.mkdirSync(dirname(path), { recursive: true });
  const { name: experiment, profile } = session.experiment;
  const text = formatLock({ experiment, profile }, lock);
  const digest = sha256(text);
  if (digestAt(path) === digest) return;
  noteEnding(session.name, { lock: digest }, session.store);
  writeLock(path, text);
  const changed = countResults(compareWithLock(before ?? new Map(), lock, { whole: true }));
  const message = before === undefined
    ? `${counted(lock.size, "is", "are")} locked; commit the file`
    : changed === 0
    ? "0 results differ; only keys do"
    : `${counted(changed, "changed", "changed")}; review ${
      changed === 1 ? "it" : "them"
    } with git diff`;
  listener({ event: "lock", path: name, message, holds: true });
}

/** The lock as it was; a whole run writes it again, whatever was there. */
function lockBefore(
  path: string,
  { name, whole }: { readonly name: string; readonly whole: boolean },
): Lock | undefined {
  try {
    return readLock(path, name);
  } catch (error) {
    if (whole && error instanceof LockstepError) return undefined;
    throw error;
  }
}

function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 result ${one}` : `${count} results ${many}`;
}

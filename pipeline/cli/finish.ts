/**
 * What follows a run: its results are published, the lock is written or checked, the run recorded. And
 * whether that was all done before, so that there is nothing to do.
 *
 * @module
 */
import { basename, dirname, join, relative } from "node:path";
import { ConfigError, LockstepError } from "../errors.ts";
import type { Listener } from "../event.ts";
import { hashFile, type Sha256 } from "../key/hash.ts";
import type { RunOutcome } from "../run/run.ts";
import type { Instance } from "../plan/graph.ts";
import type { Trace } from "../store/trace.ts";
import { lookAt } from "../files.ts";
import { type LatestRun, writeLatest } from "../store/latest.ts";
import { compareWithLock, countResults } from "../store/lock_comparison.ts";
import {
  formatLock,
  type Lock,
  type LockEntry,
  lockName,
  readLock,
  toEntry,
  writeLock,
} from "../store/lockfile.ts";
import {
  type Publications,
  publish,
  publishedAlready,
  type PublishingRun,
  type Results,
} from "../run/publish.ts";
import type { Options } from "./options.ts";
import type { Project } from "./project.ts";
import type { Session } from "./session.ts";

/** Which run it is. */
function identityOf({ experiment, platform }: Session) {
  return { experiment: experiment.name, profile: experiment.profile, backend: platform.backend };
}

function lockPath(project: Project, session: Session): string {
  return join(project.root, lockName(identityOf(session)));
}

/**
 * A missing lock is reported before hours of work, not after.
 *
 * @throws {ConfigError} If there is none.
 */
export function requireLock(project: Project, session: Session): void {
  if (lookAt(lockPath(project, session))) return;
  throw new ConfigError(
    `Cannot check against ${lockName(identityOf(session))}: there is no such lock; run without ` +
      "--locked to write it",
  );
}

/**
 * The pages that a run would name, if there is nothing for it to do: every instance is up to date, and
 * the sealed records say that the last run had the same keys, left this lock and published all this.
 * Only so far does a plan made from the catalogue count; else the answer is `undefined`.
 */
export async function pagesIfUpToDate(
  project: Project,
  session: Session,
  options: Options,
): Promise<string[] | undefined> {
  if (options.locked) return undefined;
  const results = new Map<Instance, { key: Sha256; outputs: Trace["outputs"] }>();
  for (const [instance, decision] of session.decisions) {
    if (decision.action !== "cached") return undefined;
    results.set(instance, decision);
  }
  const whole = session.graph === session.all;
  const lock = hashIfThere(lockPath(project, session));
  if (!isRecorded(session.latest, { results, whole, lock })) return undefined;
  const places = { store: session.store, workspace: session.store };
  const published = await publishedAlready(publishingRun(session, options, whole), results, places);
  return published && pagesOf(session, published);
}

/** Keys by instance: of a run that is not whole, those that the last one had besides. */
function keysOf(
  { latest }: Session,
  { results, whole }: { readonly results: Results; readonly whole: boolean },
): Record<string, Sha256> {
  const keys = new Map(Object.entries(whole ? {} : latest?.keys ?? {}));
  for (const [instance, { key }] of results) keys.set(instance.name, key);
  return Object.fromEntries(keys);
}

/** Whether a run with these results would leave the record of the last one as it is. */
function isRecorded(
  latest: LatestRun | undefined,
  { results, whole, lock }: {
    readonly results: Results;
    readonly whole: boolean;
    readonly lock: Sha256 | undefined;
  },
): boolean {
  if (latest?.lock === undefined || latest.lock !== lock) return false;
  if (whole && Object.keys(latest.keys).length !== results.size) return false;
  for (const [{ name }, { key }] of results) if (latest.keys[name] !== key) return false;
  return true;
}

/** Its folder holds the files of one run: another `--set` or backend is another run of that name. */
function publishingRun(
  { name, outputs, latest, platform }: Session,
  { set }: Options,
  whole: boolean,
): PublishingRun {
  const continues = latest?.backend === platform.backend &&
    set.join("\0") === latest.set.join("\0");
  return { name, replaces: whole || !continues, folder: outputs };
}

/** The published pages, as a person would type their paths here. */
function pagesOf({ outputs }: Session, published: Publications): string[] {
  return Object.keys(published).filter((path) => path.endsWith(".html")).map((path) => {
    const whole = join(outputs, path);
    const here = relative(Deno.cwd(), whole);
    return here.startsWith("..") ? whole : here;
  });
}

/**
 * Records that there is such a run, before its first trace names it: so a record that is gone is
 * missed.
 */
export function beginRecord(session: Session, options: Options): void {
  if (session.latest) return;
  writeLatest({ ...recordOf(session, options), keys: {} }, session.store);
}

function recordOf(session: Session, options: Options): Omit<LatestRun, "keys" | "lock"> {
  const { mirror, set } = options;
  return { ...identityOf(session), set, ...(mirror !== undefined ? { mirror } : {}) };
}

/**
 * Publishes, records the run and sees to the lock. Returns whether the lock, if checked, agrees, and
 * whether anything was written that the trace page tells.
 */
export async function finish(
  project: Project,
  session: Session,
  outcome: RunOutcome & Failed,
  options: Options,
  listener: Listener,
): Promise<{ readonly agrees: boolean; readonly changed: boolean }> {
  const { store, experiment, latest } = session;
  const whole = session.graph === session.all && outcome.failed === 0;
  const keys = keysOf(session, { results: outcome.results, whole });
  const places = { store, workspace: store };
  let changed = false;
  const published = await publish(
    publishingRun(session, options, whole),
    outcome.results,
    places,
    (event) => {
      changed ||= event.event === "published";
      listener(event);
    },
  );
  for (const path of pagesOf(session, published)) listener({ event: "page", path });
  const path = lockPath(project, session);
  // The lock is what the file as it is produces: nothing of a changed, failed or unfinished run is.
  const unlocked = experiment.modified || outcome.failed > 0 || options.finished;
  const locking = { path, whole, listener };
  const agrees = options.locked
    ? await checkLock(session, outcome, locking)
    : unlocked || await updateLock(session, outcome, locking);
  // What the audit holds the lock file to: what this run wrote, or found to agree.
  const lock = unlocked || !agrees ? latest?.lock : hashIfThere(path);
  const record: LatestRun = {
    ...recordOf(session, options),
    keys,
    ...failedBy(session, outcome),
    ...(lock !== undefined ? { lock } : {}),
  };
  if (writeLatest(record, store)) changed = true;
  return { agrees, changed };
}

/** What failed in a run. */
export interface Failed {
  /** Instance to the key that it failed at. */
  readonly failedKeys: ReadonlyMap<string, Sha256>;
}

/** What failed now, and what failed before and did not end well since. */
function failedBy(
  { all, latest }: Session,
  { results, failedKeys }: RunOutcome & Failed,
): Pick<LatestRun, "failed"> {
  const well = new Set([...results.keys()].map(({ name }) => name));
  const failed = all.flatMap(({ name }) => {
    const key = failedKeys.get(name) ?? (well.has(name) ? undefined : latest?.failed?.[name]);
    return key === undefined ? [] : [[name, key] as const];
  });
  return failed.length > 0 ? { failed: Object.fromEntries(failed) } : {};
}

/** How a run sees to its lock. */
interface Locking {
  readonly path: string;
  readonly whole: boolean;
  readonly listener: Listener;
}

async function lockEntries({ store }: Session, outcome: RunOutcome): Promise<Lock> {
  const entries = new Map<string, LockEntry>();
  for (const [instance, { key }] of outcome.results) {
    const trace = await store.trace(key);
    if (trace) entries.set(instance.name, toEntry(trace));
  }
  return entries;
}

const MAX_SHOWN = 20;

async function checkLock(
  session: Session,
  outcome: RunOutcome,
  { path, whole, listener }: Locking,
): Promise<boolean> {
  const name = `lock/${basename(path)}`;
  const lock = readLock(path, name) ?? new Map();
  const entries = await lockEntries(session, outcome);
  const differences = compareWithLock(lock, entries, { whole });
  const shown = differences.slice(0, MAX_SHOWN).map(({ message }) => `\n${message}`).join("");
  const more = differences.length - MAX_SHOWN;
  const message = differences.length === 0
    ? `0 results differ; all ${entries.size} are as locked`
    : `${counted(countResults(differences), "differs", "differ")}:${shown}` +
      (more > 0 ? `\nand ${more} more` : "");
  listener({ event: "lock", path: name, message, holds: differences.length === 0 });
  return differences.length === 0;
}

async function updateLock(
  session: Session,
  outcome: RunOutcome,
  { path, whole, listener }: Locking,
): Promise<true> {
  const name = `lock/${basename(path)}`;
  const entries = await lockEntries(session, outcome);
  const before = lockBefore(path, { name, whole });
  const lock: Lock = new Map([...whole ? [] : before ?? [], ...entries]);
  Deno.mkdirSync(dirname(path), { recursive: true });
  const { name: experiment, profile } = session.experiment;
  if (!writeLock(path, formatLock({ experiment, profile }, lock))) return true;
  const changed = countResults(compareWithLock(before ?? new Map(), lock, { whole: true }));
  const message = before === undefined
    ? `${counted(lock.size, "is", "are")} locked; commit the file`
    : changed === 0
    ? "0 results differ; only keys do"
    : `${counted(changed, "changed", "changed")}; review ${
      changed === 1 ? "it" : "them"
    } with git diff`;
  listener({ event: "lock", path: name, message, holds: true });
  return true;
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

function hashIfThere(path: string): Sha256 | undefined {
  return lookAt(path)?.kind === "a file" ? hashFile(path) : undefined;
}

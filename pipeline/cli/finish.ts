/**
 * What follows a run: its results are published, the lock is written or checked, the run recorded. And
 * whether that was all done before, so that there is nothing to do.
 *
 * @module
 */
import { join, relative } from "node:path";
import type { Listener } from "../event.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Instance } from "../plan/graph.ts";
import { isPublished } from "../plan/plan.ts";
import { dropEnding, holdToEnd } from "../run/ending.ts";
import type { Publications } from "../run/publications.ts";
import {
  publish,
  publishedAlready,
  type PublishingPlaces,
  type PublishingRun,
  type Results,
} from "../run/publish.ts";
import type { RunOutcome } from "../run/run.ts";
import type { ArtifactStore } from "../store/artifact_store.ts";
import { dropInterrupted } from "../store/claims.ts";
import { type LatestRun, writeLatest } from "../store/latest.ts";
import type { Trace } from "../store/trace.ts";
import { keepTracePage } from "../views/trace_page.ts";
import { revisionOf } from "./git.ts";
import { agreeingLock, identityOf, lockDigest, settleLock } from "./locking.ts";
import type { Options } from "./options.ts";
import type { Project } from "./project.ts";
import type { Session } from "./session.ts";

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
  if (!await isHere(session.store, results)) return undefined;
  const whole = session.graph === session.all;
  const lock = lockDigest(project, session);
  if (!isRecorded(session.latest, { results, whole, lock })) return undefined;
  const published = await publishedAlready(
    publishingRun(session, options, whole),
    results,
    placesOf(session),
  );
  return published && pagesOf(session, published);
}

/** Whether what results publish is in the store: of what was received it may be in a cache alone. */
async function isHere(store: ArtifactStore, results: Results): Promise<boolean> {
  for (const [instance, { outputs }] of results) {
    if (!isPublished(instance)) continue;
    for (const output of Object.values(outputs)) {
      if (await store.checkOutput(output) !== "ok") return false;
    }
  }
  return true;
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

function placesOf({ store }: Session): PublishingPlaces {
  return { store, workspace: store };
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

function recordOf(
  session: Session,
  { mirror, set }: Options,
): Omit<LatestRun, "keys" | "lock" | "commit"> {
  const { adapter } = session.platform;
  return {
    ...identityOf(session),
    ...(adapter === undefined ? {} : { adapter: adapter.name }),
    set,
    ...(mirror !== undefined ? { mirror } : {}),
  };
}

/** How a run is finished. */
interface Finishing {
  readonly project: Project;
  readonly options: Options;
  readonly listener: Listener;
}

/** A record but for the results: of what is checked out now. */
async function endedRecord(
  session: Session,
  { project, options }: Omit<Finishing, "listener">,
): Promise<Omit<LatestRun, "keys" | "lock">> {
  const commit = await revisionOf(project.root, session.outputs);
  return { ...recordOf(session, options), ...(commit === undefined ? {} : { commit }) };
}

/**
 * Records a run whose results were all fetched: nothing is published, and no lock written. One that says
 * just what these results are is the run's.
 */
export async function recordFetched(
  session: Session,
  results: RunOutcome["results"],
  { project, options }: Omit<Finishing, "listener">,
): Promise<void> {
  const held = await holdToEnd(session.store);
  try {
    const lock = await agreeingLock(session, results, project) ?? session.latest?.lock;
    const changed = writeLatest({
      ...await endedRecord(session, { project, options }),
      keys: keysOf(session, { results, whole: true }),
      ...(lock !== undefined ? { lock } : {}),
    }, session.store);
    await tracePage(session, { changed });
  } finally {
    held.release();
  }
}

/** Publishes, sees to the lock, records the run and keeps the trace page; returns whether the lock agrees. */
export async function finish(
  session: Session,
  outcome: RunOutcome & Failed,
  finishing: Finishing,
): Promise<boolean> {
  const held = await holdToEnd(session.store);
  try {
    const { agrees, changed } = await record(session, outcome, finishing);
    await tracePage(session, { changed });
    return agrees;
  } finally {
    held.release();
  }
}

/** What is read and written again here, no other run may write meanwhile. */
async function record(
  session: Session,
  outcome: RunOutcome & Failed,
  { project, options, listener }: Finishing,
): Promise<{ readonly agrees: boolean; readonly changed: boolean }> {
  const { store, name } = session;
  const whole = session.graph === session.all && outcome.failed === 0;
  let changed = outcome.executed > 0;
  const published = await publish(
    publishingRun(session, options, whole),
    outcome.results,
    placesOf(session),
    (event) => {
      changed ||= event.event === "published";
      listener(event);
    },
  );
  for (const path of pagesOf(session, published)) listener({ event: "page", path });
  const { agrees, digest } = await settleLock(session, outcome, {
    ...{ project, options, whole, listener },
  });
  const latest: LatestRun = {
    ...await endedRecord(session, { project, options }),
    keys: keysOf(session, { results: outcome.results, whole }),
    ...failedBy(session, outcome),
    ...(digest !== undefined ? { lock: digest } : {}),
  };
  if (writeLatest(latest, store)) changed = true;
  dropEnding(name, store);
  // All that they finished of this run is in its record now.
  if (whole) await dropInterrupted(name, store);
  return { agrees, changed };
}

/** Keeps the trace page, which shows what runs left. */
export async function tracePage(
  session: Session,
  { changed }: { readonly changed: boolean },
): Promise<void> {
  await keepTracePage(session.outputs, placesOf(session), { changed });
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

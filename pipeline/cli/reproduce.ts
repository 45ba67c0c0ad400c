/**
 * `reproduce`: carries the plan out, publishes, writes or checks the lock.
 *
 * @module
 */
import { basename, dirname, join, relative } from "node:path";
import { statOf } from "../store/catalog.ts";
import { ConfigError } from "../errors.ts";
import type { Event, Listener } from "../event.ts";
import { hashFile, type Sha256 } from "../key/hash.ts";
import { writeLatest } from "../store/latest.ts";
import { openLive } from "../views/live.ts";
import {
  compareWithLock,
  formatLock,
  type Lock,
  type LockEntry,
  lockName,
  readLock,
  toEntry,
  writeLock,
} from "../store/lockfile.ts";
import { publish } from "../store/publish.ts";
import type { RunOutcome } from "../run/run.ts";
import { keepTracePage } from "../views/trace_page.ts";
import type { Options } from "./options.ts";
import { INTERRUPTED, interruptible } from "./interrupt.ts";
import { runGraph } from "./run_graph.ts";
import { Progress } from "./progress.ts";
import type { Print, Project } from "./project.ts";
import { openSession, type Session } from "./session.ts";
import { standardOutput } from "./sink.ts";
import { jsonView, textView } from "./terminal.ts";

/** Runs what must run and shows it; 0 if all is well, 1 if something failed, 130 if interrupted. */
export async function reproduce(
  project: Project,
  options: Options,
  print: Print,
): Promise<number> {
  if (options.dryRun) {
    const { showPlan } = await import("./plan.ts");
    return await showPlan(project, options, print);
  }
  const sink = standardOutput();
  const view = options.json ? jsonView(sink) : textView(sink, { quiet: options.quiet });
  try {
    return await interruptible((signal) => carryOut(project, options, view.listener, signal));
  } finally {
    view.close();
  }
}

async function carryOut(
  project: Project,
  options: Options,
  listener: Listener,
  signal: AbortSignal,
): Promise<number> {
  const begun = performance.now();
  const session = await openSession(
    project,
    options,
    { onDamage: (path, message) => listener({ event: "damaged", path, message }) },
  );
  if (options.locked) requireLock(project, session);
  const progress = new Progress();
  const live = await openLive(session.store, {
    name: session.name,
    instances: session.graph.map(({ name, node }) => [name, node.name] as const),
  });
  const watched: Listener = (event) => {
    progress.take(event);
    live.listener(event);
    listener(event);
  };
  let failed = 1;
  try {
    watched(planEvent(session, options));
    const outcome = await runGraph(session, {
      root: project.root,
      graph: session.graph,
      decisions: session.decisions,
      jobs: options.jobs,
      failFast: options.failFast,
      keepPins: !options.locked,
      listener: watched,
      signal,
    });
    // What an interruption cut short did not fail.
    failed = signal.aborted ? 0 : outcome.failed;
    if (signal.aborted) {
      listener(progress.interrupted(session));
      return INTERRUPTED;
    }
    let published = false;
    const { held, recorded } = await finish(project, session, outcome, options, (event) => {
      published ||= event.event === "published";
      listener(event);
    });
    if (!held) failed ||= 1;
    const changed = recorded || published || outcome.executed > 0;
    const places = { store: session.store, workspace: session.store };
    await keepTracePage(session.outputs, places, { changed });
    return failed > 0 ? 1 : 0;
  } finally {
    live.close();
    session.store.close();
    const seconds = Math.round(performance.now() - begun) / 1000;
    listener({ event: "summary", ...progress.counts, failed, seconds });
  }
}

/** The event that opens a run. */
function planEvent(session: Session, { jobs }: Options): Event {
  const { experiment, platform, graph, decisions, secondsOf, estimate } = session;
  const stages = [...Map.groupBy(graph, ({ node }) => node.name)].map(([stage, instances]) => {
    // Of what is up to date nobody asks, and there may be many.
    const open = instances.filter((instance) => decisions.get(instance)?.action !== "cached");
    const known = open.flatMap((instance) => secondsOf(instance) ?? []);
    const sum = known.reduce((sum, seconds) => sum + seconds, 0);
    return {
      stage,
      instances: instances.length,
      seconds: known.length > 0 ? sum / known.length : null,
      alone: instances[0]!.node.stage.alone ?? false,
    };
  });
  return {
    event: "plan",
    experiment: experiment.name,
    profile: experiment.profile,
    backend: platform.backend,
    backendReason: platform.reason,
    instances: graph.length,
    jobs,
    stages,
    estimateSeconds: estimate.seconds,
  };
}

/**
 * Publishes, records the run and sees to the lock. Returns whether the lock, if checked, held, and
 * whether the record is another than before.
 */
async function finish(
  project: Project,
  session: Session,
  outcome: RunOutcome,
  options: Options,
  listener: Listener,
): Promise<{ readonly held: boolean; readonly recorded: boolean }> {
  const { store, experiment, latest } = session;
  const identity = {
    experiment: experiment.name,
    profile: experiment.profile,
    backend: session.platform.backend,
  };
  const whole = session.graph === session.all && outcome.failed === 0;
  const keys: Record<string, Sha256> = { ...(whole ? {} : latest?.keys) };
  for (const [instance, { key }] of outcome.results) keys[instance.name] = key;
  const run = { name: session.name, whole, folder: session.outputs };
  const published = await publish(run, outcome.results, store, listener);
  for (const path of Object.keys(published).filter((path) => path.endsWith(".html"))) {
    listener({ event: "page", path: shownPath(join(session.outputs, path)) });
  }
  const lock = join(project.root, lockName(identity));
  const current = hashIfThere(lock);
  // The lock is what the file as it stands produces: no part of a changed or failed run is.
  const unlocked = experiment.modified || outcome.failed > 0;
  const same = latest?.lock !== undefined && latest.lock === current && sameKeys(latest.keys, keys);
  if (same && !options.locked) return { held: true, recorded: false };
  const held = options.locked
    ? await checkLock(session, outcome, { lock, whole }, listener)
    : unlocked || await updateLock(session, outcome, { lock, whole }, listener);
  // What the audit holds the lock file to: what this run wrote, or found to agree.
  const written = unlocked || !held ? latest?.lock : hashIfThere(lock);
  const recorded = writeLatest(
    {
      ...identity,
      set: options.set,
      ...(options.mirror !== undefined ? { mirror: options.mirror } : {}),
      keys,
      ...(written !== undefined ? { lock: written } : {}),
    },
    store,
  );
  return { held, recorded };
}

/** A path as a person would type it here. */
function shownPath(path: string): string {
  const here = relative(Deno.cwd(), path);
  return here.startsWith("..") ? path : here;
}

/** A missing lock is told before hours of work, not after. */
function requireLock(project: Project, { experiment, platform }: Session): void {
  const { name, profile } = experiment;
  const lock = lockName({ experiment: name, profile, backend: platform.backend });
  if (statOf(join(project.root, lock))) return;
  throw new ConfigError(
    `Cannot check against ${lock}: there is no such lock; run without --locked to write it`,
  );
}

async function lockEntries(
  { store }: Session,
  outcome: RunOutcome,
): Promise<Map<string, LockEntry>> {
  const entries = new Map<string, LockEntry>();
  for (const [instance, { key }] of outcome.results) {
    const trace = await store.trace(key);
    if (trace) entries.set(instance.name, toEntry(trace));
  }
  return entries;
}

async function checkLock(
  session: Session,
  outcome: RunOutcome,
  { lock: path, whole }: { lock: string; whole: boolean },
  listener: Listener,
): Promise<boolean> {
  const name = `lock/${basename(path)}`;
  const lock = readLock(path, name) ?? new Map();
  const entries = await lockEntries(session, outcome);
  const differences = compareWithLock(lock, entries, { whole });
  const shown = differences.slice(0, 20).map((line) => `\n${line}`).join("");
  const more = differences.length > 20 ? `\nand ${differences.length - 20} more` : "";
  const message = differences.length === 0
    ? `all ${entries.size} results agree`
    : `${differences.length} results differ:${shown}${more}`;
  listener({ event: "lock", path: name, message, holds: differences.length === 0 });
  return differences.length === 0;
}

async function updateLock(
  session: Session,
  outcome: RunOutcome,
  { lock: path, whole }: { lock: string; whole: boolean },
  listener: Listener,
): Promise<true> {
  const name = `lock/${basename(path)}`;
  const entries = await lockEntries(session, outcome);
  const before = whole ? undefined : readLock(path, name);
  const lock: Lock = new Map([...before ?? [], ...entries]);
  Deno.mkdirSync(dirname(path), { recursive: true });
  const { name: experiment, profile } = session.experiment;
  const changed = writeLock(path, formatLock({ experiment, profile }, lock));
  if (changed > 0) {
    const message = `${changed} lines changed; review them with git diff`;
    listener({ event: "lock", path: name, message, holds: true });
  }
  return true;
}

function sameKeys(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>) {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}

function hashIfThere(path: string): Sha256 | undefined {
  return statOf(path) && hashFile(path);
}

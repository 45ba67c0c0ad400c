/**
 * `reproduce`: carries the plan out, publishes, writes or checks the lock.
 *
 * @module
 */
import type { Event, Listener } from "../event.ts";
import { PINS_FILE } from "../store/pins.ts";
import { holdForRun } from "../store/run_lock.ts";
import { openLive } from "../views/live.ts";
import { acceptedNote } from "./accepted_note.ts";
import { settleCache } from "./cache.ts";
import { beginRecord, finish, pagesIfUpToDate, tracePage } from "./finish.ts";
import { INTERRUPTED, interruptible } from "./interrupt.ts";
import { leftOutNote } from "./left_out_note.ts";
import { requireLock } from "./locking.ts";
import { mirrorNote } from "./mirror_note.ts";
import type { Options } from "./options.ts";
import { withImports } from "./pin_imports.ts";
import { planEvent } from "./plan_event.ts";
import { isOnSlurm } from "./placement.ts";
import { runGraph } from "./run_graph.ts";
import { Progress } from "./progress.ts";
import type { Print, Project } from "./project.ts";
import { openSession, requireLimits, sealed, type Session } from "./session.ts";
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
    const code = await showPlan(project, options, print);
    await (await import("./slurm.ts")).writeScripts(project, options, print);
    return code;
  }
  const sink = standardOutput();
  const view = options.json ? jsonView(sink) : textView(sink, { quiet: options.quiet });
  try {
    return await interruptible((signal) =>
      carryOut({ project, options, listener: view.listener, signal })
    );
  } finally {
    view.close();
  }
}

/** What is to be carried out, and who watches. */
interface Request {
  readonly project: Project;
  readonly options: Options;
  readonly listener: Listener;
  readonly signal: AbortSignal;
}

async function carryOut(request: Request): Promise<number> {
  const { project, options, listener } = request;
  const startedAt = performance.now();
  const said: Event[] = [];
  const opening = {
    onDamage(path: string, message: string) {
      said.push({ event: "damaged", path, message });
      listener({ event: "damaged", path, message });
    },
    onNote(message: string) {
      said.push({ event: "note", message });
      listener({ event: "note", message });
    },
  };
  const quick = await withImports(() => openSession(project, options, opening), {
    ...{ root: project.root, options, signal: request.signal },
    onPinned: (message) => listener({ event: "lock", path: PINS_FILE, message, holds: true }),
  });
  if (quick === undefined) {
    const message = "interrupted: what is pinned is kept; the same command continues";
    listener({ event: "interrupted", message, done: 0, instances: 0, saved: [] });
    return INTERRUPTED;
  }
  requireLimits(quick, options);
  if (options.locked) requireLock(project, quick);
  const pages = await pagesIfUpToDate(project, quick, options);
  // Where there is nothing to do, nobody need be kept out, and there is nothing to watch.
  const begun = pages === undefined ? await begin(quick, options) : undefined;
  const session = begun?.session ?? quick;
  const progress = new Progress();
  const watched: Listener = (event) => {
    progress.take(event);
    begun?.live.listener(event);
    if (event.event !== "cached") said.push(event);
    listener(event);
  };
  let failed = 1, hadNothingToDo = false, isInterrupted = true;
  try {
    const ended = await runSession({ ...request, listener: watched, session, pages, progress });
    failed = ended.failed;
    isInterrupted = ended.code === INTERRUPTED;
    hadNothingToDo = pages !== undefined && ended.code === 0;
    return ended.code;
  } finally {
    // Until then what is being uploaded is claimed.
    const traffic = session.cached && await settleCache(session.cached, request.signal);
    await begun?.end({ isInterrupted });
    if (traffic !== undefined) listener({ event: "note", message: traffic });
    const seconds = Math.round(performance.now() - startedAt) / 1000;
    listener({ event: "summary", ...progress.counts, failed, seconds });
    if (hadNothingToDo) {
      const { remember } = await import("./remember.ts");
      // The process began before anything was read.
      const since = performance.timeOrigin;
      await remember(session, { project, options, events: said, since });
    }
    session.store.close();
  }
}

/** Keeps a repair out, claims what it counts on, plans by sealed traces alone and shows watchers what goes on. */
async function begin(quick: Session, options: Options) {
  const held = holdForRun(quick.store);
  const session = await sealed(quick, options);
  try {
    // What the catalogue took for up to date, and is not, takes as much as the rest.
    requireLimits(session, options);
  } catch (error) {
    await session.claims.close();
    held.release();
    throw error;
  }
  const live = await openLive(session.store, {
    name: session.name,
    instances: session.graph.map(({ name, node }) => [name, node.name] as const),
  });
  const end = async (how: { readonly isInterrupted: boolean }) => {
    live.close();
    await session.claims.close(how);
    held.release();
  };
  return { session, live, end };
}

interface Run extends Request {
  readonly session: Session;
  /** The pages to name if there is nothing to do. */
  readonly pages: readonly string[] | undefined;
  readonly progress: Progress;
}

/** Runs what must run, publishes and records it; returns the exit code and how many failed. */
async function runSession(run: Run): Promise<{ readonly code: number; readonly failed: number }> {
  const { project, options, session, pages, progress, listener, signal } = run;
  listener(planEvent(session, options));
  const note = mirrorNote(session, options, project.root);
  if (note !== undefined) listener({ event: "note", message: note });
  const missing = leftOutNote(session);
  if (missing !== undefined) listener({ event: "note", message: missing });
  if (pages === undefined) beginRecord(session, options);
  const { root } = project;
  const isSlurmed = session.graph.some(({ node }) => isOnSlurm(node, options.executor));
  const slurm = isSlurmed
    ? await (await import("./slurm.ts")).openSlurm(session, { root, options, listener })
    : undefined;
  const outcome = await runGraph(session, {
    root,
    ...(slurm ? { queueOf: slurm.queueOf } : {}),
    graph: session.graph,
    decisions: session.decisions,
    jobs: options.jobs,
    failFast: options.failFast,
    keepPins: !options.locked,
    listener,
    signal,
  }).then(async (ended) => {
    await slurm?.leave({ isInterrupted: signal.aborted });
    return ended;
  }).finally(() => slurm?.close());
  if (signal.aborted) {
    listener(progress.interrupted(session));
    // What an interruption cut short did not fail.
    return { code: INTERRUPTED, failed: 0 };
  }
  if (pages !== undefined) {
    for (const path of pages) listener({ event: "page", path });
    await tracePage(session, { changed: false });
    return { code: 0, failed: 0 };
  }
  const ended = { ...outcome, failedKeys: progress.failedKeys };
  const accepted = await acceptedNote(session, outcome.results, options);
  if (accepted !== undefined) {
    const message = `${accepted}, and marked in the report's header; no lock is written`;
    listener({ event: "note", message });
  }
  const agrees = await finish(session, ended, { project, options, listener });
  const { failed, unlike } = outcome;
  return { code: failed > 0 || !agrees || unlike > 0 ? 1 : 0, failed };
}

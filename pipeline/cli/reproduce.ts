/**
 * `reproduce`: carries the plan out, publishes, writes or checks the lock.
 *
 * @module
 */
import type { Listener } from "../event.ts";
import { holdForRun } from "../store/run_lock.ts";
import { openLive } from "../views/live.ts";
import { keepTracePage } from "../views/trace_page.ts";
import { beginRecord, finish, pagesIfUpToDate, requireLock } from "./finish.ts";
import { leftOutNote } from "./left_out_note.ts";
import { mirrorNote } from "./mirror_note.ts";
import type { Options } from "./options.ts";
import { INTERRUPTED, interruptible } from "./interrupt.ts";
import { planEvent } from "./plan_event.ts";
import { runGraph } from "./run_graph.ts";
import { Progress } from "./progress.ts";
import type { Print, Project } from "./project.ts";
import { openSession, sealed, type Session } from "./session.ts";
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
  const quick = await openSession(
    project,
    options,
    { onDamage: (path, message) => listener({ event: "damaged", path, message }) },
  );
  if (options.locked) requireLock(project, quick);
  const pages = await pagesIfUpToDate(project, quick, options);
  const held = pages === undefined ? holdForRun(quick.store) : undefined;
  const session = pages === undefined ? await sealed(quick, options) : quick;
  const progress = new Progress();
  // Where there is nothing to do, there is nothing to watch.
  const live = pages === undefined
    ? await openLive(session.store, {
      name: session.name,
      instances: session.graph.map(({ name, node }) => [name, node.name] as const),
    })
    : undefined;
  const watched: Listener = (event) => {
    progress.take(event);
    live?.listener(event);
    listener(event);
  };
  let failed = 1;
  try {
    const run: Run = { project, options, session, pages, progress, listener: watched, signal };
    const ended = await runSession(run);
    failed = ended.failed;
    return ended.code;
  } finally {
    live?.close();
    held?.release();
    session.store.close();
    const seconds = Math.round(performance.now() - begun) / 1000;
    listener({ event: "summary", ...progress.counts, failed, seconds });
  }
}

interface Run {
  readonly project: Project;
  readonly options: Options;
  readonly session: Session;
  /** The pages to name if there is nothing to do. */
  readonly pages: readonly string[] | undefined;
  readonly progress: Progress;
  readonly listener: Listener;
  readonly signal: AbortSignal;
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
  const outcome = await runGraph(session, {
    root: project.root,
    graph: session.graph,
    decisions: session.decisions,
    jobs: options.jobs,
    failFast: options.failFast,
    keepPins: !options.locked,
    listener,
    signal,
  });
  if (signal.aborted) {
    listener(progress.interrupted(session));
    // What an interruption cut short did not fail.
    return { code: INTERRUPTED, failed: 0 };
  }
  const places = { store: session.store, workspace: session.store };
  if (pages !== undefined) {
    for (const path of pages) listener({ event: "page", path });
    await keepTracePage(session.outputs, places, { changed: false });
    return { code: 0, failed: 0 };
  }
  const { failed, unlike, executed } = outcome;
  const { agrees, changed } = await finish(
    project,
    session,
    { ...outcome, failedKeys: progress.failedKeys },
    options,
    listener,
  );
  await keepTracePage(session.outputs, places, { changed: changed || executed > 0 });
  return { code: failed > 0 || !agrees || unlike > 0 ? 1 : 0, failed };
}

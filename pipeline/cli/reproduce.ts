/**
 * `reproduce`: carries the plan out, publishes, writes or checks the lock.
 *
 * @module
 */
import type { Event, Listener } from "../event.ts";
import { holdForRun } from "../store/run_lock.ts";
import { openLive } from "../views/live.ts";
import { keepTracePage } from "../views/trace_page.ts";
import { beginRecord, finish, pagesIfUpToDate, requireLock } from "./finish.ts";
import { mirrorNote } from "./mirror_note.ts";
import type { Options } from "./options.ts";
import { INTERRUPTED, interruptible } from "./interrupt.ts";
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
    if (pages === undefined) beginRecord(session, options);
    const note = mirrorNote(session, options, project.root);
    if (note !== undefined) watched({ event: "note", message: note });
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
    const places = { store: session.store, workspace: session.store };
    if (pages !== undefined) {
      for (const path of pages) listener({ event: "page", path });
      await keepTracePage(session.outputs, places, { changed: false });
      return 0;
    }
    const { agrees, changed } = await finish(project, session, options, {
      ...{ outcome, failures: progress.failed, listener },
    });
    await keepTracePage(session.outputs, places, { changed: changed || outcome.executed > 0 });
    return failed > 0 || !agrees || outcome.unlike > 0 ? 1 : 0;
  } finally {
    live.close();
    held?.release();
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

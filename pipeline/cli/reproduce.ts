/**
 * `reproduce`: carries the plan out, then has the results published and the lock seen to.
 *
 * @module
 */
import type { Event, Listener } from "../event.ts";
import { run } from "../run/run.ts";
import type { HeldLock } from "../store/mutex.ts";
import { holdForRun } from "../store/run_lock.ts";
import { openLive } from "../views/live.ts";
import { Pins } from "../store/pins.ts";
import { keepTracePage } from "../views/trace_page.ts";
import { beginRecord, finish, pagesIfUpToDate, requireLock } from "./finish.ts";
import type { Options } from "./options.ts";
import { openSession, type Project, sealed, type Session } from "./session.ts";

/** Exit codes: 0 all well, 1 something failed, 130 interrupted. */
export async function reproduce(
  project: Project,
  options: Options,
  listener: Listener,
): Promise<number> {
  const begun = performance.now();
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) Deno.exit(130);
    controller.abort();
  };
  Deno.addSignalListener("SIGINT", interrupt);
  Deno.addSignalListener("SIGTERM", interrupt);
  const counts = { executed: 0, cached: 0, failed: 0 };
  let live: Awaited<ReturnType<typeof openLive>> | undefined;
  const watched: Listener = (event: Event) => {
    if (event.event === "executed") counts.executed++;
    live?.listener(event);
    listener(event);
  };
  let planned = options.json;
  let held: HeldLock | undefined;
  let isSound = true;
  try {
    const quick = await openSession(
      project,
      options,
      { onDamage: (path, message) => listener({ event: "damaged", path, message }) },
    );
    if (options.locked) requireLock(project, quick);
    const pages = await pagesIfUpToDate(project, quick, options);
    if (pages === undefined) held = holdForRun(quick.store);
    const session = pages === undefined ? await sealed(quick, options) : quick;
    planned = true;
    live = await openLive(session.store, {
      name: session.name,
      instances: session.graph.map(({ name, node }) => [name, node.name] as const),
    });
    watched(planEvent(session, options));
    const places = { store: session.store, workspace: session.store };
    if (pages === undefined) beginRecord(session, options);
    const outcome = await run(session.graph, session.decisions, {
      name: session.name,
      ...places,
      executor: session.executor,
      bundles: session.bundles,
      platform: session.platform,
      planInput: session.planInput,
      jobs: options.jobs,
      mirror: session.experiment.mirror,
      pins: new Pins(project.root, { keep: !options.locked && !session.experiment.modified }),
      secondsOf: session.secondsOf,
      listener: watched,
      failFast: false,
      signal: controller.signal,
    });
    Object.assign(counts, {
      executed: outcome.executed,
      cached: outcome.cached,
      // What an interruption cut short did not fail.
      failed: controller.signal.aborted ? 0 : outcome.failed,
    });
    if (controller.signal.aborted) {
      listener({
        event: "interrupted",
        message:
          `interrupted: ${counts.executed} finished instances are kept, and training resumes ` +
          "from its checkpoints; run the same command again to go on",
      });
    } else if (pages !== undefined) {
      for (const path of pages) listener({ event: "page", path });
      await keepTracePage(session.outputs, places, { changed: false });
    } else {
      const { agrees, changed } = await finish(project, session, outcome, options, listener);
      isSound = agrees && outcome.unlike === 0;
      await keepTracePage(session.outputs, places, { changed: changed || outcome.executed > 0 });
    }
    session.store.close();
    return controller.signal.aborted ? 130 : counts.failed > 0 || !isSound ? 1 : 0;
  } catch (error) {
    counts.failed ||= 1;
    throw error;
  } finally {
    live?.close();
    held?.release();
    Deno.removeSignalListener("SIGINT", interrupt);
    Deno.removeSignalListener("SIGTERM", interrupt);
    const seconds = Math.round(performance.now() - begun) / 1000;
    if (planned) listener({ event: "summary", ...counts, seconds });
  }
}

/** The event that opens a run. */
export function planEvent(session: Session, options: Options): Event {
  const { experiment, platform, graph } = session;
  return {
    event: "plan",
    experiment: experiment.name,
    profile: experiment.profile,
    backend: platform.backend,
    backendReason: platform.reason,
    instances: graph.length,
    jobs: options.jobs,
    estimateSeconds: session.estimate.seconds,
  };
}

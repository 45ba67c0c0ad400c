/**
 * Runs instances of a session.
 *
 * @module
 */
import type { Listener } from "../event.ts";
import type { Graph, Instance } from "../plan/graph.ts";
import type { Decision } from "../plan/plan.ts";
import { run, type RunOptions, type RunOutcome } from "../run/run.ts";
import { Pins } from "../store/pins.ts";
import type { Session } from "./session.ts";

/** What runs, and how. */
export interface RunGraphOptions {
  readonly root: string;
  readonly graph: Graph;
  readonly decisions: ReadonlyMap<Instance, Decision>;
  readonly jobs: number;
  readonly failFast: boolean;
  /** Whether what downloads show for the first time is pinned. */
  readonly keepPins: boolean;
  readonly queueOf?: RunOptions["queueOf"];
  readonly listener: Listener;
  readonly signal: AbortSignal;
}

/** Runs all instances of a graph for which there is no result yet. */
export async function runGraph(session: Session, o: RunGraphOptions): Promise<RunOutcome> {
  const { name, store, claims, executor, bundles, platform, planInput, secondsOf } = session;
  const { mirror, modified, locate } = session.experiment;
  return await run(o.graph, o.decisions, {
    name,
    store,
    workspace: store,
    claims,
    executor,
    ...(o.queueOf ? { queueOf: o.queueOf } : {}),
    bundles,
    platform,
    planInput,
    jobs: o.jobs,
    mirror,
    pins: new Pins(o.root, { keep: o.keepPins && !modified }),
    secondsOf,
    locate,
    listener: o.listener,
    failFast: o.failFast,
    signal: o.signal,
  });
}

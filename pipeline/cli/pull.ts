/**
 * `pull`: fetches what a shared cache has of a run, artifacts too, so that nothing of it is needed
 * later.
 *
 * @module
 */
import { counted, megabytes } from "../amounts.ts";
import { holdForRun } from "../store/run_lock.ts";
import type { Decision } from "../plan/plan.ts";
import type { Instance } from "../plan/graph.ts";
import type { CachedStore } from "../store/remote/cached_store.ts";
import type { Result } from "../run/run.ts";
import { namedBy } from "../store/trace.ts";
import { acceptedNote } from "./accepted_note.ts";
import { openCache } from "./cache.ts";
import { recordFetched } from "./finish.ts";
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { reading, sealed, type Session, withSession } from "./session.ts";

/** Pulls; 1 if something that the cache should have could not be fetched, or it could not be asked. */
export async function pull(project: Project, options: Options, print: Print): Promise<number> {
  // Asked for before anything is read: without one there is nothing to pull from.
  if (options.cache === undefined) await openCache(options, reading(options, print));
  const o = { project, options, print, isReading: false, leavesUnrecorded: true };
  return await withSession(o, async (quick) => {
    const held = holdForRun(quick.store);
    try {
      const session = await sealed(quick, options);
      const { results, ...counts } = await fetchAll(session.decisions, session.cached!);
      const recorded = session.graph === session.all && results.size === session.all.length;
      if (recorded) await recordFetched(session, results, { project, options });
      o.leavesUnrecorded = !recorded;
      say(session, { here: results.size, ...counts, recorded }, { options, print });
      const accepted = await acceptedNote(session, results, options);
      if (accepted !== undefined) reading(options, print).onNote?.(accepted);
      return counts.lost + counts.unknown > 0 ? 1 : 0;
    } finally {
      held.release();
    }
  });
}

/** Instances by what came of them, and whether the run is recorded. */
interface Counts {
  readonly here: number;
  readonly lost: number;
  readonly missing: number;
  readonly unknown: number;
  readonly recorded: boolean;
}

function say(
  { name, cached, decisions }: Session,
  counts: Counts,
  { options, print }: { readonly options: Options; readonly print: Print },
): void {
  const { traffic: { blobs, bytes }, cache } = cached!;
  if (options.json) {
    return print(JSON.stringify({ event: "pulled", cache: cache.name, ...counts, blobs, bytes }));
  }
  const { here, lost, missing, unknown, recorded } = counts;
  const parts = [
    `${here} of ${counted(decisions.size, "instance")} here`,
    `${counted(blobs, "file")} fetched, ${megabytes(bytes)}`,
  ];
  if (lost > 0) parts.push(`${lost} could not be fetched whole`);
  if (missing > 0) parts.push(`${missing} not in the cache; a run makes them`);
  if (unknown > 0) parts.push(`${unknown} unknown, since the cache could not be asked`);
  if (recorded) parts.push(`recorded as the latest run of ${name}`);
  wrapping(print)(`${cache.name}: ${parts.join("; ")}`);
}

async function fetchAll(decisions: ReadonlyMap<Instance, Decision>, store: CachedStore) {
  const results = new Map<Instance, Result>();
  const counts = { lost: 0, missing: 0, unknown: 0 };
  // What waits for what could not be asked for has no key yet.
  const isUnknown = (decision: Decision) =>
    decision.action === "wait" ? store.unasked.size > 0 : store.unasked.has(decision.key);
  await Promise.all([...decisions].map(async ([instance, decision]) => {
    const trace = decision.action === "wait" ? undefined : await store.trace(decision.key);
    if (!trace) return counts[isUnknown(decision) ? "unknown" : "missing"]++;
    const states = await Promise.all(namedBy(trace).map((named) => store.checkOutput(named)));
    if (states.every((state) => state === "ok")) results.set(instance, trace);
    else counts.lost++;
  }));
  return { ...counts, results };
}

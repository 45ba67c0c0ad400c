/**
 * `pull`: fetches what a shared cache has of a run, artifacts too, so that nothing of it is needed
 * later.
 *
 * @module
 */
import { holdForRun } from "../store/run_lock.ts";
import type { Decision } from "../plan/plan.ts";
import type { Instance } from "../plan/graph.ts";
import type { CachedStore } from "../store/remote/cached_store.ts";
import { namedBy } from "../store/trace.ts";
import { counted, mb, openCache } from "./cache.ts";
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { reading, withSession } from "./session.ts";

/** Pulls; 1 if something that the cache should have could not be fetched, or it could not be asked. */
export async function pull(project: Project, options: Options, print: Print): Promise<number> {
  // Asked for before anything is read: without one there is nothing to pull from.
  if (options.cache === undefined) await openCache(options, reading(options, print));
  const o = { project, options, print, isReading: false, leavesUnrecorded: true };
  return await withSession(o, async (session) => {
    const cached = session.cached!;
    const held = holdForRun(cached);
    try {
      await session.claims.keep(() => {
        for (const decision of session.decisions.values()) {
          if (decision.action === "cached") session.claims.claim(decision.key);
        }
      });
      const { here, lost, missing, unknown } = await fetchAll(session.decisions, cached);
      const { blobs, bytes } = cached.traffic;
      const cache = cached.cache.name;
      if (options.json) {
        const counts = { here, lost, missing, unknown, blobs, bytes };
        print(JSON.stringify({ event: "pulled", cache, ...counts }));
      } else {
        const parts = [
          `${here} of ${counted(session.decisions.size, "instance")} here`,
          `${counted(blobs, "file")} fetched, ${mb(bytes)}`,
        ];
        if (lost > 0) parts.push(`${lost} could not be fetched whole`);
        if (missing > 0) parts.push(`${missing} not in the cache; a run makes them`);
        if (unknown > 0) parts.push(`${unknown} unknown, since the cache could not be asked`);
        wrapping(print)(`${cache}: ${parts.join("; ")}`);
      }
      return lost + unknown > 0 ? 1 : 0;
    } finally {
      held.release();
    }
  });
}

async function fetchAll(decisions: ReadonlyMap<Instance, Decision>, store: CachedStore) {
  const counts = { here: 0, lost: 0, missing: 0, unknown: 0 };
  // What waits for what could not be asked for has no key yet.
  const isUnknown = (decision: Decision) =>
    decision.action === "wait" ? store.unasked.size > 0 : store.unasked.has(decision.key);
  await Promise.all([...decisions.values()].map(async (decision) => {
    const trace = decision.action === "cached" ? await store.trace(decision.key) : undefined;
    if (!trace) return counts[isUnknown(decision) ? "unknown" : "missing"]++;
    const states = await Promise.all(namedBy(trace).map((named) => store.checkOutput(named)));
    counts[states.every((state) => state === "ok") ? "here" : "lost"]++;
  }));
  return counts;
}

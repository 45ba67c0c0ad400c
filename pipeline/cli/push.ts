/**
 * `push`: puts the results of a run, or all of a store, into a shared cache.
 *
 * @module
 */
import { counted, megabytes } from "../amounts.ts";
import { LockstepError } from "../errors.ts";
import type { Sha256 } from "../key/hash.ts";
import { readLatest } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { openCache } from "./cache.ts";
import { wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { openStore, reading } from "./session.ts";
import { openExperiment } from "./wiring.ts";

/** Pushes; 1 if something could not be put there. */
export async function push(project: Project, options: Options, print: Print): Promise<number> {
  const cache = await openCache(options, reading(options, print));
  const store = openStore(project, options, print);
  try {
    const keys = store && await keysOf(project, options, store);
    if (!store || !keys) {
      throw new LockstepError(
        'Cannot push: a run must have left its record in the store, and none did; run "deno task ' +
          'reproduce" first',
      );
    }
    const { Uploads } = await import("../store/remote/uploads.ts");
    const uploads = new Uploads(store, cache);
    let received = 0, lost = 0;
    for (const key of keys) {
      const trace = await store.trace(key);
      if (!trace) lost++;
      else if (trace.received) received++;
      else uploads.add(trace);
    }
    await uploads.settle();
    const { put, there, failed } = uploads.counts;
    if (options.json) {
      const counts = { put, there, received, failed: failed + lost, bytes: uploads.bytes };
      print(JSON.stringify({ event: "pushed", cache: cache.name, ...counts }));
    } else {
      const parts = [`${counted(put, "result")} put there, ${megabytes(uploads.bytes)}`];
      if (there > 0) parts.push(`${there} there before`);
      if (received > 0) parts.push(`${received} left out, which came from a cache`);
      if (failed + lost > 0) parts.push(`${failed + lost} could not be put there`);
      wrapping(print)(`${cache.name}: ${parts.join(", ")}`);
    }
    return failed + lost > 0 ? 1 : 0;
  } finally {
    store?.close();
  }
}

async function keysOf(
  project: Project,
  options: Options,
  store: LocalStore,
): Promise<readonly Sha256[] | undefined> {
  if (options.all) return await store.traceKeys();
  const { name } = await openExperiment(project, options);
  const latest = readLatest(name, store);
  return latest && [...new Set(Object.values(latest.keys))];
}

/**
 * What is reached from the roots: their traces, those of whatever they were made from, and all the
 * blobs that these name.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { entriesBelow, readText } from "../files.ts";
import type { Sha256 } from "../key/hash.ts";
import type { LocalStore } from "../store/local_store.ts";
import { inputsOf, type Manifest, type Named, type Trace } from "../store/trace.ts";
import { parseTrace, traceFile } from "../store/traces.ts";

/** A file that holds a trace: the one of its key, or a further result of it. */
export interface TraceFile {
  readonly key: Sha256;
  readonly path: string;
  readonly isOther: boolean;
  /** `undefined` if it is damaged. */
  readonly trace: Trace | undefined;
}

/** Every trace of a store. */
export function readTraces({ root }: Pick<LocalStore, "root">): TraceFile[] {
  const files: TraceFile[] = [];
  for (const entry of entriesBelow(join(root, "traces"))) {
    const named = traceFile(entry), { path } = entry;
    if (named) files.push({ ...named, path, trace: traceIn(path, named.key) });
  }
  return files;
}

function traceIn(path: string, key: Sha256): Trace | undefined {
  try {
    return parseTrace(readText(path) ?? "", { key, path });
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}

/**
 * The keys that are kept: those given and, of the artifacts given and of what the keys were made from,
 * those that nothing kept makes already. So whoever follows a kept result back finds as much as before.
 *
 * @param artifacts Digests of artifacts, which may have others among them.
 */
export function keysReached(
  keys: Iterable<Sha256>,
  { artifacts, traces }: {
    readonly artifacts: Iterable<Sha256>;
    readonly traces: readonly TraceFile[];
  },
): ReadonlySet<Sha256> {
  const byKey = new Map<Sha256, Trace>();
  const makers = new Map<string, Trace[]>();
  for (const { key, trace, isOther } of traces) {
    if (!trace || isOther) continue;
    byKey.set(key, trace);
    for (const { sha256 } of Object.values(trace.outputs)) {
      const known = makers.get(sha256);
      if (known) known.push(trace);
      else makers.set(sha256, [trace]);
    }
  }
  const reached = new Set<Sha256>(keys);
  const made = new Set<string>();
  const take = (key: Sha256) => {
    for (const { sha256 } of Object.values(byKey.get(key)?.outputs ?? {})) made.add(sha256);
  };
  for (const key of reached) take(key);
  const reach = (digest: Sha256) => {
    if (made.has(digest)) return;
    const maker = latestOf(makers.get(digest) ?? []);
    if (!maker) return;
    reached.add(maker.key);
    take(maker.key);
  };
  for (const digest of artifacts) reach(digest);
  // A set's new entries are visited too.
  for (const key of reached) {
    const trace = byKey.get(key);
    for (const [, digest] of trace ? inputsOf(trace) : []) reach(digest);
  }
  return reached;
}

function latestOf(traces: readonly Trace[]): Trace | undefined {
  return traces.reduce<Trace | undefined>(
    (latest, trace) => latest === undefined || trace.started > latest.started ? trace : latest,
    undefined,
  );
}

/** The blobs of what traces or orders name, those in their folders too. */
export class NamedBlobs {
  readonly #store: LocalStore;
  readonly #folders = new Map<Sha256, Promise<Manifest | undefined>>();

  constructor(store: LocalStore) {
    this.#store = store;
  }

  /** The digests of what is named, in its order; those in a folder whose list is lost are not known. */
  async of(
    all: readonly Named[],
  ): Promise<{ readonly digests: Set<Sha256>; readonly isWhole: boolean }> {
    const digests = new Set<Sha256>();
    let isWhole = true;
    for (const { kind, sha256 } of all) {
      digests.add(sha256);
      if (kind === "file") continue;
      const manifest = await this.#manifest(sha256);
      isWhole &&= manifest !== undefined;
      for (const entry of Object.values(manifest ?? {})) digests.add(entry.sha256);
    }
    return { digests, isWhole };
  }

  #manifest(digest: Sha256): Promise<Manifest | undefined> {
    let found = this.#folders.get(digest);
    if (!found) this.#folders.set(digest, found = this.#store.manifest(digest));
    return found;
  }
}

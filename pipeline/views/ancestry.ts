/**
 * Which trace made a digest, and what it was made from: the way back to the first bytes.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import type { ArtifactStore } from "../store/artifact_store.ts";
import { inputsOf, type Manifest, type OutputRecord, type Trace } from "../store/trace.ts";

/** One way in which a digest came about. */
export interface Maker {
  readonly trace: Trace;
  /** The output's name; of a file in a folder `raw/train.csv`. */
  readonly output: string;
  readonly record: OutputRecord;
}

/** Digest to all that made it, in the order of the traces. */
export type Makers = ReadonlyMap<string, readonly Maker[]>;

/** Every intact trace of a store, oldest first. */
export async function allTraces(store: ArtifactStore): Promise<Trace[]> {
  const traces: Trace[] = [];
  for (const key of await store.traceKeys()) {
    const trace = await store.trace(key);
    if (trace) traces.push(trace);
  }
  return traces.sort((a, b) => a.started < b.started ? -1 : 1);
}

/** Digest of a folder output to what it holds. */
export type Manifests = ReadonlyMap<string, Manifest>;

/** What the folders hold that the given traces made. One that is lost is left out. */
export async function manifestsOf(
  traces: Iterable<Trace>,
  store: ArtifactStore,
): Promise<Manifests> {
  const manifests = new Map<string, Manifest>();
  for (const { outputs } of traces) {
    for (const { kind, sha256 } of Object.values(outputs)) {
      const manifest = kind === "folder" ? await store.manifest(sha256) : undefined;
      if (manifest) manifests.set(sha256, manifest);
    }
  }
  return manifests;
}

/** What the given traces made: outputs, and the files in folders. */
export function makersOf(traces: Iterable<Trace>, manifests: Manifests): Makers {
  const makers = new Map<string, Maker[]>();
  const add = (digest: Sha256, maker: Maker) => {
    const known = makers.get(digest);
    if (known) known.push(maker);
    else makers.set(digest, [maker]);
  };
  for (const trace of traces) {
    for (const [output, record] of Object.entries(trace.outputs)) {
      add(record.sha256, { trace, output, record });
      for (const [path, { sha256 }] of Object.entries(manifests.get(record.sha256) ?? {})) {
        add(sha256, { trace, output: `${output}/${path}`, record });
      }
    }
  }
  return makers;
}

/** Traces and all they came from by the newest makers, each once, nearest first. */
export function ancestry(start: Iterable<Trace>, makers: Makers): Set<Trace> {
  const found = new Set(start);
  for (const each of found) {
    for (const [, digest] of inputsOf(each)) {
      const maker = makers.get(digest)?.at(-1);
      if (maker) found.add(maker.trace);
    }
  }
  return found;
}

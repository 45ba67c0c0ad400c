/**
 * Which trace made a digest, and what it was made from: the way back to the first bytes.
 *
 * @module
 */
import { isSha256, type Sha256 } from "../key/hash.ts";
import type { Store } from "../store/store.ts";
import type { OutputRecord, Trace } from "../store/trace.ts";

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
export function allTraces(store: Store): Trace[] {
  return [...store.traceKeys()].flatMap((key) => store.trace(key) ?? [])
    .sort((a, b) => a.started < b.started ? -1 : 1);
}

/** What the given traces made: outputs, and the files in folders. */
export function makersOf(traces: Iterable<Trace>, store: Store): Makers {
  const makers = new Map<string, Maker[]>();
  const add = (digest: Sha256, maker: Maker) => {
    const known = makers.get(digest);
    if (known) known.push(maker);
    else makers.set(digest, [maker]);
  };
  for (const trace of traces) {
    for (const [output, record] of Object.entries(trace.outputs)) {
      add(record.sha256, { trace, output, record });
      if (record.kind !== "folder" || store.check(record.sha256) !== "ok") continue;
      for (const [path, { sha256 }] of Object.entries(store.manifest(record.sha256))) {
        add(sha256, { trace, output: `${output}/${path}`, record });
      }
    }
  }
  return makers;
}

/** The digests of a trace's inputs, by the input's name. */
export function inputsOf(trace: Trace): [string, Sha256][] {
  return Object.entries(trace.ingredients).flatMap(([name, value]) =>
    name.startsWith("inputs.") && isSha256(value)
      ? [[name.slice("inputs.".length), value] as [string, Sha256]]
      : []
  );
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

/**
 * What the traces of a run name, and why: which blobs an audit file holds, and which it must hold.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import { codeOf, type Manifest, type Trace } from "../store/trace.ts";
import { inputsIn } from "./replay.ts";

/** One way in which a trace names some bytes. */
export interface Use {
  readonly sha256: Sha256;
  /** `metrics of evaluate/short/0`, `code of report`. */
  readonly of: string;
  readonly bytes?: number;
  /**
   * Whether an audit file holds it whatever its size: code, lists of files, and what tables and
   * verdicts are made from.
   */
  readonly always: boolean;
}

/**
 * Whether an instance gathers what others made, and neither computes on a backend nor measures time, as
 * what makes tables and verdicts does: it runs again quickly, and anywhere.
 */
export function gathers(trace: Trace): boolean {
  const { ingredients } = trace;
  return ingredients["platform.backend"] === undefined && ingredients["alone"] === undefined &&
    inputsIn(trace).some(({ label }) => label !== undefined);
}

/**
 * All that some traces name. Of a folder whose list is unknown, the list alone.
 *
 * @param chosen Whether an instance is to run again: what it needs is always there.
 */
export function* usesOf(
  traces: ReadonlyMap<string, Trace>,
  { manifest, chosen = gathers }: {
    readonly manifest: (digest: string) => Manifest | undefined;
    readonly chosen?: (trace: Trace, instance: string) => boolean;
  },
): Generator<Use> {
  const always = new Set<string>();
  for (const [instance, trace] of traces) {
    if (!chosen(trace, instance)) continue;
    const named = inputsIn(trace).map(({ digest }) => digest);
    for (const digest of [...named, ...Object.values(trace.outputs).map(({ sha256 }) => sha256)]) {
      always.add(digest);
    }
  }
  function* folder(sha256: Sha256, of: string, isAlways: boolean): Generator<Use> {
    yield { sha256, of, always: true };
    for (const [path, entry] of Object.entries(manifest(sha256) ?? {})) {
      yield { ...entry, of: `${path} in ${of}`, always: isAlways };
    }
  }
  for (const [instance, trace] of traces) {
    const { code, packages } = codeOf(trace);
    yield { sha256: code, of: `code of ${instance}`, always: true };
    if (packages !== undefined) yield* folder(packages, `packages of ${instance}`, true);
    for (const [name, { kind, sha256, bytes }] of Object.entries(trace.outputs)) {
      const of = `${name} of ${instance}`, isAlways = always.has(sha256);
      if (kind === "folder") yield* folder(sha256, of, isAlways);
      else yield { sha256, of, bytes, always: isAlways };
    }
  }
}

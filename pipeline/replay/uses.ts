/**
 * What the traces of a run name, and why: which blobs an audit file holds, and which it must hold.
 *
 * @module
 */
import type { Sha256 } from "../key/hash.ts";
import { codeOf, isCommand, type Manifest, type Trace } from "../store/trace.ts";
import { inputsIn } from "./replay.ts";

/** One way in which a trace names some bytes. */
export interface Use {
  readonly sha256: Sha256;
  /** `metrics of evaluate/short/0`, `code of report`. */
  readonly of: string;
  readonly bytes?: number;
  /**
   * Whether an audit file holds it whatever its size: lists of files, code, and what chosen instances
   * are made from and make.
   */
  readonly always: boolean;
}

/** Whether an instance is to be run again by whoever has the file. */
export type Choice = (trace: Trace, instance: string) => boolean;

/** Of which instances a file holds what running them again needs. */
export interface Choices {
  /** Of which everything; by default those that gather, and what follows from them. */
  readonly chosen?: Choice;
  /** Of which the code; by default all. */
  readonly code?: Choice;
}

/**
 * The instances that gather what others made and those that follow from such, as what makes tables, figures
 * and verdicts does, unless they compute on a backend or are programs: they run again quickly, and anywhere.
 */
export function gathering(traces: ReadonlyMap<string, Trace>): Choice {
  const found = new Set<Trace>();
  const made = new Set<string>();
  const isSuch = (trace: Trace) =>
    trace.ingredients["platform.backend"] === undefined && !isCommand(trace) &&
    inputsIn(trace).some(({ label, digest }) => label !== undefined || made.has(digest));
  for (let before = -1; found.size > before;) {
    before = found.size;
    for (const trace of traces.values()) {
      if (found.has(trace) || !isSuch(trace)) continue;
      found.add(trace);
      for (const { sha256 } of Object.values(trace.outputs)) made.add(sha256);
    }
  }
  return (trace) => found.has(trace);
}

/** All that some traces name. Of a folder whose list is unknown, the list alone. */
export function* usesOf(
  traces: ReadonlyMap<string, Trace>,
  { manifest, chosen = gathering(traces), code: hasCode = () => true }: Choices & {
    readonly manifest: (digest: string) => Manifest | undefined;
  },
): Generator<Use> {
  const always = new Set<string>();
  for (const [instance, trace] of traces) {
    const { code, packages = code } = codeOf(trace);
    if (hasCode(trace, instance)) always.add(code).add(packages);
    if (!chosen(trace, instance)) continue;
    for (const { digest } of inputsIn(trace)) always.add(digest);
    for (const { sha256 } of Object.values(trace.outputs)) always.add(sha256);
  }
  const file = (sha256: Sha256, of: string, bytes?: number): Use => {
    return { sha256, of, always: always.has(sha256), ...(bytes === undefined ? {} : { bytes }) };
  };
  function* folder(sha256: Sha256, of: string): Generator<Use> {
    yield { sha256, of, always: true };
    for (const [path, entry] of Object.entries(manifest(sha256) ?? {})) {
      yield { ...entry, of: `${path} in ${of}`, always: always.has(sha256) };
    }
  }
  for (const [instance, trace] of traces) {
    const { code, packages } = codeOf(trace);
    yield file(code, `code of ${instance}`);
    if (packages !== undefined) yield* folder(packages, `packages of ${instance}`);
    for (const [name, { kind, sha256, bytes }] of Object.entries(trace.outputs)) {
      const of = `${name} of ${instance}`;
      if (kind === "folder") yield* folder(sha256, of);
      else yield file(sha256, of, bytes);
    }
  }
}

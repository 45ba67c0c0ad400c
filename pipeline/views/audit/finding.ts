/**
 * What an audit finds, and what it is made on.
 *
 * @module
 */
import type { Sha256 } from "../../key/hash.ts";
import type { LocalStore } from "../../store/local_store.ts";
import type { Trace } from "../../store/trace.ts";

/**
 * One thing that is not as it should be. A `leftover`, a blob that no trace names or a file half
 * written, is of an interrupted or failed run: it belongs to nothing, and does no harm.
 */
export interface Finding {
  readonly problem: "altered" | "missing" | "orphaned" | "leftover";
  readonly what: "blob" | "trace" | "record" | "lock" | "output" | "code" | "catalogue";
  /** Where it is or should be. */
  readonly path: string;
  /** The instances it belongs to; empty for an orphan. */
  readonly instances: readonly string[];
  /** Of a blob: the keys of the traces that name it. */
  readonly keys?: readonly Sha256[];
  /** Of a blob: the files of {@linkcode OtherResult}s that name it. */
  readonly others?: readonly string[];
  readonly message: string;
  /** The run that makes it again, `fusion.smoke`. */
  readonly run?: string;
}

/** A result that a key has besides its own: made under it too, with other bits. */
export interface OtherResult {
  readonly path: string;
  readonly trace: Trace;
}

/** An audit that goes on. */
export interface Audit {
  readonly root: string;
  readonly outputs: string;
  readonly store: LocalStore;
  readonly findings: Finding[];
}

/** What a process that was killed leaves of a file it was writing. */
export function isHalfWritten(name: string): boolean {
  return /\.\d+\.tmp$/.test(name);
}

/** A file with its size. */
export interface SizedFile {
  readonly path: string;
  readonly bytes: number;
}

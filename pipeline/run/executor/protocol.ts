/**
 * What passes between the engine and the process a stage runs in: one task as a line on its
 * standard input, messages as lines on its standard output. The input stays open while the engine
 * lives; its end tells the process to end too.
 *
 * @module
 */
import type { Json } from "../../key/canonical.ts";
import type { Backend, StageProgress } from "../../stage.ts";

/** In a folder of checkpoints: locked by the process that works there. */
export const OWNER_FILE = ".owner";

/** An input artifact, as paths the process may read. */
export interface TaskInput {
  readonly at: Readonly<Record<string, string>>;
  readonly sha256: string;
  readonly path: string;
  /** Relative path to absolute path, for a folder. */
  readonly files: readonly (readonly [string, string])[];
}

/** One instance to run. */
export interface Task {
  readonly instance: string;
  readonly stage: string;
  /** Module that exports the stage's `run`. */
  readonly module: string;
  readonly params: Json;
  readonly inputs: Readonly<Record<string, readonly TaskInput[]>>;
  readonly many: readonly string[];
  /** Output name to path; folders exist. */
  readonly outputs: Readonly<Record<string, string>>;
  readonly backend: Backend;
  readonly mirror?: string;
  readonly checkpoints?: string;
}

/**
 * Why a stage failed: `expected` is for the user, `access` an undeclared access, `memory` what does
 * not fit into it, `bug` the rest.
 */
export type FailureKind = "expected" | "access" | "memory" | "bug";

/** A line from the process. */
export type Message =
  | ({ readonly type: "progress" } & StageProgress)
  | { readonly type: "metric"; readonly name: string; readonly value: number }
  | { readonly type: "done" }
  | { readonly type: "failed"; readonly kind: FailureKind; readonly message: string };

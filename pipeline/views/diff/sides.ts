/**
 * The two runs of a comparison, and what became of an instance in both.
 *
 * @module
 */
import type { Change } from "../../key/ingredients.ts";
import type { Lock } from "../../store/lockfile.ts";
import type { Trace } from "../../store/trace.ts";

/** One of the two runs. */
export interface Side {
  /** What it is, for people: `lock/fusion.smoke.lock at HEAD~1 (1a2b3c4)`. */
  readonly label: string;
  readonly lock: Lock;
  /** The traces behind the lock's keys that the store has, by instance. */
  readonly traces: ReadonlyMap<string, Trace>;
}

/**
 * What became of an instance of both runs: `same` key and result; `unstable`: same key, other result;
 * `unmoved`: other key, same result; `changed`: other key, other result; `uncompared`: other key, and
 * all outputs measured, of which no two runs are compared.
 */
export type Standing = "same" | "unstable" | "unmoved" | "changed" | "uncompared";

/** A figure that differs; `undefined` where a run lacks it. */
export interface MetricDelta {
  readonly metric: string;
  readonly before: number | undefined;
  readonly now: number | undefined;
  /** `now` − `before`, where there are both. */
  readonly difference: number | undefined;
}

/** An instance that both runs have. */
export interface InstanceDiff {
  readonly instance: string;
  readonly standing: Standing;
  /** Names of the outputs whose digests differ; a measured output has none. */
  readonly outputs: readonly string[];
  readonly metrics: readonly MetricDelta[];
  /** The ingredients that differ; `undefined` where the store lacks a trace. */
  readonly changes: readonly Change[] | undefined;
  /** Source files behind changed code. */
  readonly sources: readonly string[];
}

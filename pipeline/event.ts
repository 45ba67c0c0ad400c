/**
 * What a run reports to whoever watches: the terminal, a log, or a program that reads `--json`.
 *
 * @module
 */
import type { StageProgress } from "./stage.ts";

/** What a plan expects of one stage. */
export interface ExpectedStage {
  readonly stage: string;
  readonly instances: number;
  /** Seconds that one takes, by earlier runs; `null` if none says. */
  readonly seconds: number | null;
  /** Whether its instances run while no other does. */
  readonly alone: boolean;
  /** How many of its instances can run at once. */
  readonly atOnce: number;
}

/** Something that a key made twice, and not the same. */
export interface Unlike {
  readonly what: "output" | "metric";
  readonly name: string;
  /** An output's digest or a metric's value; `none` if it was not recorded. */
  readonly first: string;
  readonly again: string;
}

/** One thing that happened. With `--json`, one line each. */
export type Event =
  | {
    readonly event: "plan";
    readonly experiment: string;
    readonly profile: string;
    readonly backend: string;
    readonly backendReason: string;
    readonly instances: number;
    readonly jobs: number;
    /** What is expected of each stage, in the order of the graph. */
    readonly stages: readonly ExpectedStage[];
    /** Seconds the work is expected to take, from earlier traces; `null` if none say. */
    readonly estimateSeconds: number | null;
  }
  | { readonly event: "cached"; readonly instance: string; readonly key: string }
  | {
    readonly event: "started";
    readonly instance: string;
    readonly key: string;
    readonly reason: string;
    /** Seconds it should take, by earlier runs; `null` if none says. */
    readonly estimateSeconds: number | null;
  }
  | { readonly event: "waiting"; readonly instance: string; readonly owner: string }
  | ({ readonly event: "progress"; readonly instance: string } & StageProgress)
  | { readonly event: "log"; readonly instance: string; readonly text: string }
  | {
    readonly event: "executed";
    readonly instance: string;
    readonly key: string;
    readonly seconds: number;
    readonly metrics: Readonly<Record<string, number>>;
  }
  /** A key was made twice, with another output or metric, neither being measured. */
  | (
    & { readonly event: "nondeterministic"; readonly instance: string; readonly key: string }
    & Unlike
  )
  | {
    readonly event: "failed";
    readonly instance: string;
    readonly key: string | null;
    /** The same for instances of a stage that fail alike: it does not name the instance. */
    readonly message: string;
    /** The last lines that its stage printed. */
    readonly output: readonly string[];
  }
  /** Ended, or not begun, since another instance failed and the first failure was to end the run. */
  | { readonly event: "stopped"; readonly instance: string; readonly because: string }
  | { readonly event: "skipped"; readonly instance: string; readonly because: string }
  | { readonly event: "damaged"; readonly path: string; readonly message: string }
  /** Something to know that is no failure. */
  | { readonly event: "note"; readonly message: string }
  | { readonly event: "published"; readonly path: string; readonly instance: string }
  | { readonly event: "page"; readonly path: string }
  | {
    readonly event: "lock";
    readonly path: string;
    readonly message: string;
    /** Whether the results are those of the lock, if it was checked. */
    readonly holds: boolean;
  }
  | {
    readonly event: "interrupted";
    readonly message: string;
    /** How many instances are done, of how many. */
    readonly done: number;
    readonly instances: number;
    /** The instances that go on from a checkpoint. */
    readonly saved: readonly string[];
  }
  | {
    readonly event: "summary";
    readonly executed: number;
    readonly cached: number;
    readonly failed: number;
    readonly seconds: number;
  };

/** Receives events in the order they happen. */
export type Listener = (event: Event) => void;

/** Marks a switch over a union as complete: a new member is then a type error. */
export function unreachable(value: never): never {
  throw new Error(`Unhandled case ${JSON.stringify(value)}`);
}

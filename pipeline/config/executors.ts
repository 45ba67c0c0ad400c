/** @module */

/** Where instances are made: on this machine, or as jobs of a cluster. */
export const EXECUTORS = ["local", "slurm"] as const;
/** One of {@linkcode EXECUTORS}. */
export type ExecutorName = typeof EXECUTORS[number];

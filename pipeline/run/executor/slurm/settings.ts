/**
 * What a job asks of Slurm, as `#SBATCH` options.
 *
 * @module
 */
import type { Resources } from "../../../stage.ts";

/** What an experiment's file says for Slurm alone. */
export interface SlurmSettings {
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  /** Loaded before the stage runs. */
  readonly modules?: readonly string[] | undefined;
  /** How many of a stage's jobs run at a time. */
  readonly max_running?: number | undefined;
  /** Further options of sbatch, `--qos=low`. */
  readonly options?: readonly string[] | undefined;
}

/** What a stage's jobs need. */
export interface JobNeeds {
  readonly resources: Resources;
  readonly settings: SlurmSettings;
  /** Whether nothing else may run on the node meanwhile. */
  readonly alone: boolean;
}

/** For what a job does before and after its stage, which ends by its own limit, to the second. */
const SPARE_MINUTES = 2;

/** The options of sbatch that say what a job needs. */
export function optionsFor({ resources, settings, alone }: JobNeeds): string[] {
  const { cpus, memoryBytes, gpus, timeSeconds } = resources;
  const { partition, account, options = [] } = settings;
  const given: Readonly<Record<string, string | number | undefined>> = {
    partition,
    account,
    "cpus-per-task": cpus,
    // Whole units: Slurm knows no smaller ones.
    mem: memoryBytes === undefined ? undefined : `${Math.ceil(memoryBytes / 2 ** 20)}M`,
    gres: gpus === undefined || gpus === 0 ? undefined : `gpu:${gpus}`,
    time: timeSeconds === undefined ? undefined : Math.ceil(timeSeconds / 60) + SPARE_MINUTES,
  };
  return [
    ...Object.entries(given).filter(([, value]) => value !== undefined)
      .map(([name, value]) => `--${name}=${value}`),
    ...(alone ? ["--exclusive"] : []),
    ...options,
  ];
}

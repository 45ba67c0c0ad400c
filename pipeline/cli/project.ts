/**
 * What the command line is handed, and what it hands each command.
 *
 * @module
 */
import type { BackendChoice } from "../key/platform.ts";
import type { Graph } from "../plan/graph.ts";

/** A project: where it is, its stages and the experiment it is about. */
export interface Project {
  readonly root: string;
  /** The modules that export a stage, by its name; each is loaded when a command needs it. */
  readonly stages: Readonly<Record<string, () => Promise<object>>>;
  /** What a command takes that no `--experiment` is given; the folders of experiments/ are all there are. */
  readonly experiment: string;
  /** The module that examines a machine, for `doctor`. */
  readonly doctor?: () => Promise<{ readonly doctor: Doctor }>;
}

/** Examines this machine and prints what it finds; gives the exit code. */
export type Doctor = (options: DoctorOptions) => Promise<number>;

/** A profile's instances. */
export interface PlannedGraph {
  readonly experiment: string;
  readonly profile: string;
  readonly graph: Graph;
}

/** What an examination takes. */
export interface DoctorOptions {
  /** The backend to examine; `auto`: those there are. */
  readonly backend: BackendChoice;
  readonly json: boolean;
  /** The project's, if it is a git repository. */
  readonly commit: string | undefined;
  /** All profiles of all experiments. */
  readonly plans: () => Promise<readonly PlannedGraph[]>;
  readonly print: Print;
  /** Says what is being done, or "" that nothing more is. */
  readonly progress: (what: string) => void;
}

/** Prints a line. */
export type Print = (line: string) => void;

/**
 * What the command line is handed, and what it hands each command.
 *
 * @module
 */
/** A project: where it is, its stages and the experiment it is about. */
export interface Project {
  readonly root: string;
  /** The modules that export a stage, by its name; each is loaded when a command needs it. */
  readonly stages: Readonly<Record<string, () => Promise<object>>>;
  /** What a command takes that no `--experiment` is given; the folders of experiments/ are all there are. */
  readonly experiment: string;
}

/** Prints a line. */
export type Print = (line: string) => void;

/**
 * What the command line is handed, and what it hands each command.
 *
 * @module
 */
/** A project: where it is, its stages and its experiments, the default one first. */
export interface Project {
  readonly root: string;
  /** The modules that export a stage, by its name; each is loaded when a command needs it. */
  readonly stages: Readonly<Record<string, () => Promise<object>>>;
  readonly experiments: readonly string[];
}

/** Prints a line. */
export type Print = (line: string) => void;

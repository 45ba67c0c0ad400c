/**
 * Where stages run, as far as the rest of the engine knows: something that takes a task and what it
 * may reach, runs it, reports, and returns its metrics or fails.
 *
 * @module
 */
import type { AdapterDescription } from "../key/adapter.ts";
import type { Json } from "../key/canonical.ts";
import type { BackendChoice, Platform } from "../key/platform.ts";
import type { Ingredients } from "../key/ingredients.ts";
import type { Backend, Command, StageProgress, Violation } from "../stage.ts";
import type { Amounts, Share } from "./share.ts";

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
  readonly stage: string;
  /** Module that exports the stage's `run`; others may run the same. Of a command the folder of its files. */
  readonly module: string;
  /** The program that runs instead of the module. */
  readonly command?: Command;
  /** A folder of the task's own, to run in. */
  readonly folder: string;
  readonly params: Json;
  readonly inputs: Readonly<Record<string, readonly TaskInput[]>>;
  readonly many: readonly string[];
  /** Output name to path; folders exist. */
  readonly outputs: Readonly<Record<string, string>>;
  /** Of a numeric stage. */
  readonly backend?: Backend;
  readonly mirror?: string;
  readonly checkpoints?: string;
}

/** What a task may reach. */
export interface Reach {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly hosts: readonly string[];
  /** Variables of the environment that hold what the hosts ask for; where one is unset, none. */
  readonly secrets: readonly string[];
}

/** What the process that computes says of itself. */
export interface ProcessPlatform {
  readonly deno: string;
  /** On the `webgpu` backend. */
  readonly adapter?: AdapterDescription;
}

/** Whoever follows a task. */
export interface Watch {
  /** Comes first. What it throws ends the task, which fails with it. */
  platform(found: ProcessPlatform): void;
  progress(progress: StageProgress): void;
  /** What the stage saw. What it throws ends the task, which fails with it. */
  pin(name: string, value: string): void;
  /** A piece of what the stage prints, of any length. */
  log(text: string): void;
}

/** What an execution takes besides its task. */
export interface Execution {
  readonly reach: Reach;
  /** A folder, out of every task's reach, for what the runtime makes of modules. */
  readonly cache: string;
  readonly watch: Watch;
  readonly share: Share;
  /** Asks the stage to stop; after a short grace it is ended. */
  readonly signal: AbortSignal;
}

/** Figures that a stage recorded, by name. */
export type Metrics = Readonly<Record<string, number>>;

/** What a command rests on; or what keeps it from running, at a path of the command. */
export type Examined =
  | { readonly ingredients: Ingredients }
  | { readonly violation: Violation };

/** See the module's comment. */
export interface Executor {
  /**
   * The numeric platform that tasks compute on.
   *
   * @throws {ConfigError} If that backend cannot be had.
   */
  platform(wanted: BackendChoice): Promise<Platform>;
  /** What all tasks that run at a time may take together; known once the platform is. */
  readonly limits: Amounts;
  /** Looks at what a command rests on where it would run, for its key. */
  examine(command: Command): Promise<Examined>;
  /**
   * Runs one task.
   *
   * @throws {StageError} If the stage fails.
   * @throws The signal's reason, if it was aborted before the stage finished.
   */
  execute(task: Task, execution: Execution): Promise<Metrics>;
}

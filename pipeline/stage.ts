/**
 * What a stage is: a pure function from params and input artifacts to output artifacts, and a
 * declaration of what it takes, makes and may reach. The engine reads declarations and bundles runs,
 * which it never loads: `stages/NAME.ts` exports the one, `stages/NAME.run.ts` the other.
 *
 * @module
 */
import type { z } from "zod";
import { ConfigError } from "./errors.ts";

/**
 * The version of what passes between the engine and a stage, an ingredient of every key: it rises
 * when a stage of the same code would see or leave something else.
 */
export const CONTRACT = "1";
/** The same of what passes between the engine and a stage's program: its request, its folders, its lines. */
export const COMMAND_CONTRACT = "command/1";

/**
 * How far an output is reproducible: `exact` has the same bits for the same key; `numeric` has the
 * same bits on one numeric platform and agrees within a tolerance on others; `measured` holds
 * timings, which are never compared by bits.
 */
export type Exactness = "exact" | "numeric" | "measured";

/** The backends that a numeric stage can compute on; `wasm+fma` rounds a product and its sum once. */
export const BACKENDS = ["webgpu", "wasm+fma", "wasm", "cpu"] as const;
/** Where a numeric stage computes. */
export type Backend = (typeof BACKENDS)[number];

/** One named output of a stage. */
export interface OutputSpec<P> {
  /** `file`: one file; `folder`: any number of files below one folder, hashed as a sorted list. */
  readonly kind: "file" | "folder";
  readonly exactness: Exactness;
  /** Path below `outputs/EXPERIMENT.PROFILE/` at which a copy is written for people to read. */
  readonly publish?: (params: P) => string;
  /**
   * Names of what it holds, table to columns, for stages that read it to be checked; a column `*`
   * means coordinates of inputs that were measured beside each other. In no key.
   */
  readonly measures?: Readonly<Record<string, readonly string[]>>;
  /** An input whose measures are in it, as they came. In no key. */
  readonly gathers?: string;
  /** What kind of content it has, for inputs that take no other: `results`. In no key. */
  readonly content?: string;
  /** Names of what params say is in it, by kind: `{ table: ["main"] }`, to be checked likewise. In no key. */
  readonly holds?: (params: P) => Names;
}

/** Names by the kind of what they name. */
export type Names = Readonly<Record<string, readonly string[]>>;

/** One named input of a stage. `many` takes every upstream instance the wiring selects, or none. */
export interface InputSpec {
  readonly many?: boolean;
  /** The content that it takes; the wiring of anything else is refused. In no key. */
  readonly content?: string;
}

/** What a stage may reach besides its inputs and its outputs. Everything else is refused. */
export interface Access {
  /** Network hosts, `example.org` or `example.org:443`. */
  readonly hosts?: readonly string[];
  /** Whether it may read the mirror folder given by `--mirror`. */
  readonly mirror?: boolean;
  /**
   * Variables of the environment that hold what its hosts ask for, such as a token. It may read these; they
   * are in no key and no record, and must change nothing but whether it is let in.
   */
  readonly secrets?: readonly string[];
}

/** Something that is wrong with params: where, below them, and what. */
export interface Violation {
  /** Of an included Markdown text, a number after its own path is a line of it. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** What an instance is in the midst of, known before anything runs. Grid values are texts. */
export interface Surroundings {
  /** Every axis of the experiment, with the values that any profile has. */
  readonly axes: Readonly<Record<string, readonly string[]>>;
  /** Every axis with this run's values. */
  readonly grid: Readonly<Record<string, readonly string[]>>;
  /** What feeds each input. */
  readonly inputs: Readonly<Record<string, readonly Feed[]>>;
}

/** What params are settled by. Grid values are texts. */
export interface Settling {
  readonly mirror: string | undefined;
  /** The instance's coordinates. */
  readonly at: Readonly<Record<string, string>>;
  /** Every axis with this run's values. */
  readonly grid: Surroundings["grid"];
  /** What the run leaves out of it: combinations that match all of an entry. */
  readonly exclude: readonly Surroundings["grid"][];
  /** What is pinned in `lock/pins.lock`, by name. */
  readonly pins: ReadonlyMap<string, string>;
  /** For each input the axes that the outputs which feed it vary over, a list for each output. */
  readonly each: Readonly<Record<string, readonly (readonly string[])[]>>;
}

/** What a stage says of itself in a plan: lines, or a small table. */
export type Preview = readonly string[] | {
  readonly title: string;
  readonly columns: readonly string[];
  /** As many cells each as there are columns. */
  readonly rows: readonly (readonly string[])[];
  /** Lines below the table. */
  readonly notes?: readonly string[];
};

/** An output that feeds an input. */
export interface Feed {
  /** The stage's name in the experiment, and its output. */
  readonly node: string;
  readonly output: string;
  /** Axes that it varies over. */
  readonly each: readonly string[];
  /** Coordinates of the instances that this one takes it from. */
  readonly at: readonly Readonly<Record<string, string>>[];
  /** Tables that it measures or gathers. */
  readonly measures: Readonly<Record<string, Measured>>;
  /** Of all of them; `undefined` if the stage does not say. */
  readonly holds: Names | undefined;
}

/** A table as it is known before anything is measured. */
export interface Measured {
  /** Axes that its rows vary over. */
  readonly axes: readonly string[];
  readonly columns: readonly string[];
}

/** The names of a kind in what feeds an input; `undefined` unless all of it says. */
export function namesIn(feeds: readonly Feed[] | undefined, kind: string): string[] | undefined {
  const all = feeds?.map(({ holds }) => holds?.[kind]);
  return all === undefined || all.includes(undefined) ? undefined : all.flatMap((own) => own!);
}

/** A program that does a stage's work instead of a module; see docs/command_stages.md. */
export interface Command {
  /** Folder of its files, below the project's root. */
  readonly folder: string;
  /** An absolute path, or one of `files`. */
  readonly program: string;
  readonly arguments: readonly string[];
  /** Paths below `folder`: all that it finds of the project. */
  readonly files: readonly string[];
  /** Debian packages that it rests on; without any, all that are installed count. */
  readonly packages: readonly string[];
  /** Absolute paths of folders that it reads besides the system's. */
  readonly folders: readonly string[];
  /** Arguments with which the program says what it is, by the name of the ingredient. */
  readonly asks: Readonly<Record<string, readonly string[]>>;
  readonly variables: Readonly<Record<string, string>>;
}

/** What an instance takes of a machine, as far as an experiment says. It decides when and where it runs, and is in no key. */
export interface Resources {
  readonly cpus?: number;
  readonly memoryBytes?: number;
  /** Graphics adapters that nobody else uses meanwhile. */
  readonly gpus?: number;
  /** How long it may take. */
  readonly timeSeconds?: number;
}

/** Tables by name, with all axes and columns that any of some outputs measures. */
export function tablesTogether(all: readonly Feed["measures"][]): Record<string, Measured> {
  const tables: Record<string, Measured> = {};
  for (const [name, { axes, columns }] of all.flatMap(Object.entries<Measured>)) {
    const before = tables[name] ?? { axes: [], columns: [] };
    tables[name] = {
      axes: [...new Set([...before.axes, ...axes])],
      columns: [...new Set([...before.columns, ...columns])],
    };
  }
  return tables;
}

/** A stage's declaration. `P` is the type of its validated params. */
export interface Stage<P = unknown> {
  /** Lower-case name, unique in the project: `train`. */
  readonly name: string;
  /** Schema of the params. Only what it names reaches the stage and its key. */
  readonly params: z.ZodType<P>;
  readonly inputs: Readonly<Record<string, InputSpec>>;
  readonly outputs: Readonly<Record<string, OutputSpec<P>>>;
  /**
   * Params that change how it runs and never what it makes, such as how often it saves checkpoints:
   * they reach the stage, and are no part of its key.
   */
  readonly operational?: readonly (keyof P & string)[];
  /** Of a stage that an experiment's file defines; it has no module. */
  readonly command?: Command;
  /** Whether it computes with floats on a backend; the numeric platform is then part of its key. */
  readonly numeric?: boolean;
  /**
   * Whether it runs while no other instance of its run does, because it measures time. It is part
   * of the key: what was timed beside other work is timed again.
   */
  readonly alone?: boolean;
  /** Whether it keeps checkpoints between interrupted attempts at the same key. */
  readonly checkpoints?: boolean;
  readonly access?: (params: P) => Access;
  /**
   * Settles what depends on this machine or this run, such as which of several sources the mirror
   * holds, before the key is taken: what it returns is what the key and the stage see. Of the machine it
   * looks at the mirror alone: without one it is not asked again while a run is remembered that had
   * nothing to do. It throws an `UnpinnedError` where something must be looked up first, an
   * `UnsettledError` at what can't be settled.
   */
  readonly settle?: (params: P, run: Settling) => P;
  /**
   * What is wrong with valid params where they are. Asked of each instance before anything runs, and
   * shown at the lines where the params are written, what several instances have in common once.
   */
  readonly check?: (
    params: P,
    surroundings: Surroundings,
  ) => readonly Violation[] | Promise<readonly Violation[]>;
  /**
   * What `plan` prints for an instance below the stages, such as what this run could decide. What is
   * heavy is imported in it.
   */
  readonly preview?: (params: P, surroundings: Surroundings) => Preview | Promise<Preview>;
}

/** What a stage does: writes every declared output, from its params and inputs alone. */
export type Run<P> = (context: StageContext<P>) => Promise<void>;

/** An input artifact as a stage sees it. */
export interface Artifact {
  /**
   * Coordinates of the instance that made it, `{ dataset: "reviews", seed: "0" }`; empty for an
   * input that is not `many`: there they are no part of the key.
   */
  readonly at: Readonly<Record<string, string>>;
  /** SHA-256 of its content, lower-case hex. */
  readonly sha256: string;
  /** Absolute path of a `file` output; for a `folder`, see `files`. */
  readonly path: string;
  /** A `folder`'s files: relative path to absolute path. Empty for a `file`. */
  readonly files: ReadonlyMap<string, string>;
}

/** What a running stage reports to whoever watches. Never part of an artifact. */
export interface StageProgress {
  readonly done: number;
  readonly total: number;
  /** What is counted: `steps`, `bytes`. */
  readonly unit: string;
  /** Figures worth showing while it runs, `{ loss: 0.61 }`. */
  readonly values?: Readonly<Record<string, number>>;
}

/** Everything a stage gets. */
export interface StageContext<P> {
  readonly params: P;
  /** The single artifact bound to an input. Throws if the input is `many`. */
  input(name: string): Artifact;
  /** All artifacts bound to an input, ordered by coordinates. */
  inputs(name: string): readonly Artifact[];
  /** Absolute path to write an output to; for a `folder` output an existing empty folder. */
  output(name: string): string;
  /** The backend of a stage that declares `numeric`. Throws in any other: its key holds none. */
  readonly backend: Backend;
  /** Folder of mirrored downloads, if one was given and the stage may read it. */
  readonly mirror: string | undefined;
  /** Folder that outlives an interrupted attempt at this key; `undefined` unless declared. */
  readonly checkpoints: string | undefined;
  /**
   * Aborted when the run is to end. A stage that keeps checkpoints saves its state at its next step
   * and throws `stopping.reason`; a few seconds later the process is killed. The request comes as an
   * event, so a stage that computes without yielding to the event loop does not see it, and one that
   * never reads `stopping` is ended at once.
   */
  readonly stopping: AbortSignal;
  progress(progress: StageProgress): void;
  /**
   * Records a headline figure in the trace: `accuracy`, in its natural unit.
   *
   * @throws {RangeError} If the name is empty, too long or holds control characters, or the value is
   *   not finite.
   */
  metric(name: string, value: number): void;
  /**
   * Says what it saw of something that nothing else holds to its content, such as the digest of a
   * file that has no published checksum. What is seen first is kept in `lock/pins.lock` once this
   * instance has succeeded; something else than what is there ends the stage.
   *
   * @throws {RangeError} If the name or the value is empty, too long, or more than words with single
   *   spaces between them.
   */
  pin(name: string, value: string): void;
}

/**
 * Declares a stage: returns it as it is. It ties `publish` and the like to the params' type.
 *
 * @throws {ConfigError} If a name is not lower-case letters, digits and underscores, or `operational`
 * names no param.
 */
export function defineStage<P>(stage: Stage<P>): Stage<P> {
  const names = [stage.name, ...Object.keys(stage.inputs), ...Object.keys(stage.outputs)];
  for (const name of names) {
    if (!/^[a-z][a-z0-9_]*$/.test(name)) {
      throw new ConfigError(
        `Cannot define stage "${stage.name}": names must match [a-z][a-z0-9_]*, found "${name}"`,
      );
    }
  }
  const { shape } = stage.params as { shape?: Readonly<Record<string, unknown>> };
  for (const name of stage.operational ?? []) {
    if (shape !== undefined && !(name in shape)) {
      throw new ConfigError(
        `Cannot define stage "${stage.name}": operational must name params of its schema, found ` +
          `"${name}"`,
      );
    }
  }
  return stage;
}

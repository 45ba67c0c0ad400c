/**
 * Runs stages in Deno processes of their own on this machine. Each may reach only what its task
 * names: its scratch folder, its hosts; no package, no environment, no subprocess.
 *
 * @module
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type BackendChoice, type Platform, resolvePlatform } from "../../key/platform.ts";
import { ConfigError, StageError } from "../../errors.ts";
import type { Ingredients } from "../../key/ingredients.ts";
import type { Command } from "../../stage.ts";
import { type Amounts, memoryHere } from "../share.ts";
import type { Examined, Execution, Executor, Metrics, Task } from "../executor.ts";
import { type Adapter, adaptersLike, givenAdapters, ofPlatform } from "./adapters.ts";
import { findCage } from "./command/cage.ts";
import { CommandProblem, examine, examineFiles } from "./command/examine.ts";
import { runCommand } from "./command/run.ts";
import { compilerArguments } from "./compiler_flags.ts";
import { follow } from "./conversation.ts";
import { stageEnvironment } from "./environment.ts";

const HOST = fileURLToPath(new URL("./host.ts", import.meta.url));

/** What stage processes are given instead of what they usually have. */
export interface LocalCircumstances {
  /** Variables of the environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Options of Deno. */
  readonly flags?: readonly string[];
}

/** How stages are run on this machine. */
export interface LocalOptions extends LocalCircumstances {
  /** Whether commands run without a cage. */
  readonly uncaged?: boolean;
  /** What is shared by those that run at a time, where it is not all that this machine has. */
  readonly limits?: Partial<Omit<Amounts, "gpus">>;
  /** Adapters to compute on, as given by `--adapter`; by default all of one platform. */
  readonly adapters?: readonly string[];
  readonly onNote?: (message: string) => void;
}

/** Stage processes on this machine. */
export class LocalExecutor implements Executor {
  readonly #uncaged: boolean;
  readonly #circumstances: LocalCircumstances;
  readonly #limits: LocalOptions["limits"];
  readonly #given: readonly string[];
  readonly #onNote: (message: string) => void;
  /** Those of the platform; none where every process finds the one there is. */
  #adapters: readonly Adapter[] = [];
  readonly #examined = new Map<Command, Ingredients>();

  constructor(options: LocalOptions = {}) {
    const { uncaged = false, limits, adapters = [], onNote = () => {}, ...circumstances } = options;
    this.#circumstances = circumstances;
    this.#limits = limits;
    this.#given = adapters;
    this.#onNote = onNote;
    this.#uncaged = uncaged;
  }

  async platform(wanted: BackendChoice): Promise<Platform> {
    const given = await givenAdapters(this.#given);
    const [first] = given;
    const platform = await resolvePlatform(
      wanted,
      first && (() => Promise.resolve(first.found)),
    );
    if (platform.backend !== "webgpu") {
      if (!first) return platform;
      throw new ConfigError(
        `Cannot use --adapter: numeric stages must compute on WebGPU, and do so on ` +
          `${platform.backend} (${platform.reason}); give --backend webgpu`,
      );
    }
    const all = first ? { adapters: given } : await adaptersLike(platform);
    const { adapters, leftOut } = ofPlatform(all.adapters, platform);
    this.#adapters = adapters;
    for (const note of [all.note, leftOut]) if (note !== undefined) this.#onNote(note);
    return platform;
  }

  get limits(): Amounts {
    const gpus = Math.max(1, this.#adapters.length);
    const here = { gpus, memoryBytes: memoryHere(), cpus: navigator.hardwareConcurrency };
    return { ...here, ...this.#limits };
  }

  async examine(command: Command): Promise<Examined> {
    const cage = await findCage();
    if (!this.#uncaged && "problem" in cage) {
      return { violation: { path: [], message: noCage(cage.problem) } };
    }
    try {
      const ingredients = await examine(command, { uncaged: this.#uncaged });
      this.#examined.set(command, ingredients);
      return { ingredients };
    } catch (error) {
      if (error instanceof CommandProblem) return error;
      throw error;
    }
  }

  /** What a long run began with may have been updated meanwhile. */
  #requireUnchanged(stage: string, command: Command): void {
    const before = this.#examined.get(command);
    if (before === undefined) return;
    const now = examineFiles(command, { uncaged: this.#uncaged });
    const moved = Object.keys({ ...before, ...now }).find((name) =>
      before[name] !== now[name] && !name.startsWith("asks.")
    );
    if (moved === undefined) return;
    throw new StageError(
      `Cannot keep a result of "${stage}": what it rests on must not change while it runs, and ` +
        `${moved} did; run again`,
    );
  }

  async execute(task: Task, { reach, cache, watch, share, signal }: Execution): Promise<Metrics> {
    signal.throwIfAborted();
    const { command } = task;
    if (command !== undefined) {
      const how = { uncaged: this.#uncaged, bound: await boundToLife() };
      const metrics = await runCommand({ ...task, command }, { watch, signal }, how);
      this.#requireUnchanged(task.stage, command);
      return metrics;
    }
    const { variables = {}, flags = [] } = this.#circumstances;
    // Who shares an adapter shares the first.
    const adapter = this.#adapters[share.adapters[0] ?? 0];
    const [program, ...args] = [
      ...await boundToLife(),
      ...[Deno.execPath(), "run", "--no-prompt", "--quiet"],
      // Nothing but the modules that the key names: no package, no configuration, no cache of code.
      ...["--no-npm", "--no-remote", "--no-config", "--no-lock", "--no-code-cache"],
      ...await compilerArguments(task.backend),
      `--allow-read=${list(reach.read, task.folder)}`,
      `--allow-write=${list(reach.write, task.folder)}`,
      ...(reach.hosts.length > 0 ? [`--allow-net=${reach.hosts.join(",")}`] : []),
      ...(reach.secrets.length > 0 ? [`--allow-env=${reach.secrets.join(",")}`] : []),
      ...flags,
      HOST,
    ] as const;
    const child = new Deno.Command(program, {
      args,
      cwd: task.folder,
      // The user's own cache holds packages, which code can load that knows where they lie.
      env: {
        ...stageEnvironment(reach.secrets),
        ...adapter?.variables,
        ...variables,
        DENO_DIR: cache,
      },
      clearEnv: true,
      // A terminal's Ctrl-C is for the engine to answer.
      detached: true,
      stdin: "piped",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    return await follow(child, task, { watch, signal });
  }
}

function noCage(problem: string): string {
  return `a command must run in a cage, and ${problem}; or give --uncaged: then it runs with all that ` +
    "you may do, and its results are marked";
}

let binding: Promise<readonly string[]> | undefined;

/**
 * What to start a program with so that the kernel kills it when this process ends, however that
 * ends: the closed input alone ends a stage's process only once it yields. Linux has that, and
 * util-linux a program for it; elsewhere the closed input must do.
 *
 * The kernel goes by the thread that starts the program, which in Deno is the one that calls here.
 */
function boundToLife(): Promise<readonly string[]> {
  const prefix = ["setpriv", "--pdeathsig", "KILL"];
  const works = async (): Promise<boolean> => {
    if (Deno.build.os !== "linux") return false;
    try {
      const [program, ...args] = [...prefix, "true"] as const;
      const ended = await new Deno.Command(program!, { args, stdout: "null", stderr: "null" })
        .output();
      return ended.success;
    } catch {
      return false;
    }
  };
  return binding ??= works().then((possible) => possible ? prefix : []);
}

/**
 * A list of paths as a permission flag takes it. Commas separate them and cannot be quoted, so a path that
 * has one is given from the folder in which the process starts: what both are in needs no name then.
 *
 * @throws {StageError} if that leaves a comma.
 */
function list(paths: readonly string[], from: string): string {
  return paths.map((path) => {
    if (!path.includes(",")) return path;
    const way = relative(Deno.realPathSync(from), path) || ".";
    if (!way.includes(",")) return way;
    throw new StageError(
      `A stage cannot be given "${path}": Deno takes no comma in the path of a permission; rename what has ` +
        "it, or keep the outputs, the mirror and the project below one folder whose name may have it",
    );
  }).join(",");
}

/**
 * Runs stages in Deno processes of their own on this machine. Each may reach only what its task
 * names: its scratch folder, its hosts; no package, no environment, no subprocess.
 *
 * @module
 */
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type BackendChoice,
  GRAPHICS_VARIABLES,
  type Platform,
  resolvePlatform,
} from "../../key/platform.ts";
import { StageError } from "../../errors.ts";
import type { Ingredients } from "../../key/ingredients.ts";
import type { Command } from "../../stage.ts";
import type { Examined, Execution, Executor, Metrics, Task } from "../executor.ts";
import { findCage } from "./command/cage.ts";
import { CommandProblem, examine, examineFiles } from "./command/examine.ts";
import { runCommand } from "./command/run.ts";
import { compilerArguments } from "./compiler_flags.ts";
import { follow } from "./conversation.ts";

const HOST = fileURLToPath(new URL("./host.ts", import.meta.url));

/** What stage processes are given instead of what they usually have. */
export interface LocalCircumstances {
  /** Variables of the environment. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Options of Deno. */
  readonly flags?: readonly string[];
}

/** Stage processes on this machine. */
export class LocalExecutor implements Executor {
  readonly #uncaged: boolean;
  readonly #circumstances: LocalCircumstances;
  readonly #examined = new Map<Command, Ingredients>();

  /** @param o.uncaged Whether commands run without a cage. */
  constructor(
    { uncaged = false, ...circumstances }: LocalCircumstances & { readonly uncaged?: boolean } = {},
  ) {
    this.#circumstances = circumstances;
    this.#uncaged = uncaged;
  }

  platform(wanted: BackendChoice): Promise<Platform> {
    return resolvePlatform(wanted);
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

  async execute(task: Task, { reach, cache, watch, signal }: Execution): Promise<Metrics> {
    signal.throwIfAborted();
    const { command } = task;
    if (command !== undefined) {
      const how = { uncaged: this.#uncaged, bound: await boundToLife() };
      const metrics = await runCommand({ ...task, command }, { watch, signal }, how);
      this.#requireUnchanged(task.stage, command);
      return metrics;
    }
    const { variables = {}, flags = [] } = this.#circumstances;
    const [program, ...args] = [
      ...await boundToLife(),
      ...[Deno.execPath(), "run", "--no-prompt", "--quiet"],
      // Nothing but the modules that the key names: no package, no configuration, no cache of code.
      ...["--no-npm", "--no-remote", "--no-config", "--no-lock", "--no-code-cache"],
      ...await compilerArguments(task.backend),
      `--allow-read=${list(reach.read, task.folder)}`,
      `--allow-write=${list(reach.write, task.folder)}`,
      ...(reach.hosts.length > 0 ? [`--allow-net=${reach.hosts.join(",")}`] : []),
      ...flags,
      HOST,
    ] as const;
    const child = new Deno.Command(program, {
      args,
      cwd: task.folder,
      // The user's own cache holds packages, which code can load that knows where they lie.
      env: { ...environment(), ...variables, DENO_DIR: cache },
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

/**
 * The environment of a stage process. Deno lets a stage read none of it; it is for native parts:
 * which graphics device and driver to take. Locale and time zone are fixed.
 */
function environment(): Record<string, string> {
  const passed: Record<string, string> = { LC_ALL: "C.UTF-8", TZ: "UTC", NO_COLOR: "1" };
  for (const [name, value] of Object.entries(Deno.env.toObject())) {
    if (
      /^(HOME|PATH|TMPDIR|LD_LIBRARY_PATH)$/.test(name) || GRAPHICS_VARIABLES.test(name)
    ) {
      passed[name] = value;
    }
  }
  return passed;
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

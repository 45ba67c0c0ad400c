/**
 * Runs stages in Deno processes of their own on this machine. Each may reach only what its task
 * names: its scratch folder, its hosts; no package, no environment, no subprocess.
 *
 * @module
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { StageError } from "../../errors.ts";
import { unreachable } from "../../event.ts";
import {
  type BackendChoice,
  GRAPHICS_VARIABLES,
  type Platform,
  resolvePlatform,
} from "../../key/platform.ts";
import { CONTRACT } from "../../stage.ts";
import type { Execution, Executor, Metrics, Task, Watch } from "../executor.ts";
import { Channel } from "./channel.ts";
import { type Assignment, type FailureKind, type Message, STOP } from "./protocol.ts";

const HOST = fileURLToPath(new URL("./host.ts", import.meta.url));

/** How long a stage that was asked to stop may take to save its state. */
const GRACE_MS = 5000;

/** Stage processes on this machine. */
export class LocalExecutor implements Executor {
  platform(wanted: BackendChoice): Promise<Platform> {
    return resolvePlatform(wanted);
  }

  async execute(task: Task, { reach, cache, watch, signal }: Execution): Promise<Metrics> {
    signal.throwIfAborted();
    const [program, ...args] = [
      ...await boundToLife(),
      ...[Deno.execPath(), "run", "--no-prompt", "--quiet"],
      // Nothing but the modules that the key names: no package, no configuration, no cache of code.
      ...["--no-npm", "--no-remote", "--no-config", "--no-lock", "--no-code-cache"],
      ...[`--allow-read=${list(reach.read)}`, `--allow-write=${list(reach.write)}`],
      ...(reach.hosts.length > 0 ? [`--allow-net=${reach.hosts.join(",")}`] : []),
      HOST,
    ] as const;
    const child = new Deno.Command(program, {
      args,
      cwd: task.folder,
      // The user's own cache holds packages, which code can load that knows where they lie.
      env: { ...environment(), DENO_DIR: cache },
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

/** Hands a process its task, follows it to its end and returns the metrics that it recorded. */
async function follow(
  child: Deno.ChildProcess,
  task: Task,
  { watch, signal }: { readonly watch: Watch; readonly signal: AbortSignal },
): Promise<Metrics> {
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch { /* it has ended */ }
  };
  const stdin = child.stdin.getWriter();
  const say = (line: string) =>
    stdin.write(new TextEncoder().encode(`${line}\n`)).catch(
      () => {/* it ended; its status says how */},
    );
  let grace: ReturnType<typeof setTimeout> | undefined;
  const stop = () => {
    say(STOP);
    grace = setTimeout(kill, GRACE_MS);
  };
  signal.addEventListener("abort", stop, { once: true });
  const token = crypto.randomUUID();
  const account = new Account(task.stage, watch);
  const channel = new Channel(token, {
    log: (text) => watch.log(text),
    message(message) {
      account.take(message);
      // Nothing that it still does can count.
      if (account.ended !== undefined) kill();
    },
  });
  const decoder = new TextDecoder();
  try {
    await Promise.all([
      say(JSON.stringify({ token, engine: Deno.pid, task } satisfies Assignment)),
      each(child.stdout, (piece) => channel.take(piece)).then(() => channel.end()),
      each(child.stderr, (piece) => watch.log(decoder.decode(piece, { stream: true }))),
    ]);
    const status = await child.status;
    if (account.ended?.type === "done") return Object.fromEntries(account.metrics);
    signal.throwIfAborted();
    throw account.ended ? failureOf(task, account.ended) : endOf(task, status);
  } finally {
    signal.removeEventListener("abort", stop);
    clearTimeout(grace);
    kill();
    await child.status;
    await stdin.close().catch(() => {/* already closed by its end */});
  }
}

async function each(stream: ReadableStream<Uint8Array>, take: (piece: Uint8Array) => void) {
  for await (const piece of stream) take(piece);
}

/** What a process's messages come to. */
class Account {
  readonly #stage: string;
  readonly #watch: Watch;
  #ready = false;
  readonly metrics = new Map<string, number>();
  ended: Extract<Message, { type: "done" | "failed" }> | undefined;

  constructor(stage: string, watch: Watch) {
    this.#stage = stage;
    this.#watch = watch;
  }

  take(message: Message): void {
    if (this.ended !== undefined) return;
    if (this.#ready !== (message.type !== "ready")) {
      throw new StageError(`Cannot follow stage "${this.#stage}": its process speaks out of turn`);
    }
    switch (message.type) {
      case "ready":
        this.#ready = true;
        return this.#begin(message);
      case "progress": {
        const { type: _, ...progress } = message;
        return this.#watch.progress(progress);
      }
      case "metric":
        this.metrics.set(message.name, message.value);
        return;
      case "pin":
        return this.#watch.pin(message.name, message.value);
      case "done":
      case "failed":
        this.ended = message;
        return;
      default:
        unreachable(message);
    }
  }

  #begin({ contract, deno, adapter }: Extract<Message, { type: "ready" }>): void {
    if (contract !== CONTRACT) {
      throw new StageError(
        `Cannot run stage "${this.#stage}": the engine and the stage's process must keep one ` +
          `contract, found ${CONTRACT} and ${contract}; the engine's code was changed during the ` +
          "run, so run again",
      );
    }
    this.#watch.platform({ deno, ...(adapter ? { adapter } : {}) });
  }
}

/** A list of paths as a permission flag takes it: a comma within a path is doubled. */
function list(paths: readonly string[]): string {
  return paths.map((path) => path.replaceAll(",", ",,")).join(",");
}

function failureOf(
  task: Task,
  { kind, message }: { readonly kind: FailureKind; readonly message: string },
): StageError {
  // The same failure has the same message in every instance.
  const text = [task.folder, dirname(task.module)].reduce(
    (text, folder) => text.replaceAll(`file://${folder}/`, "").replaceAll(`${folder}/`, ""),
    message,
  );
  switch (kind) {
    case "expected":
      return new StageError(text);
    case "access":
      return new StageError(
        `Stage "${task.stage}" may not do this: ${text.split(", run again")[0]}; a stage reaches ` +
          `only its inputs, its outputs and what its definition's access names`,
      );
    case "memory":
      return new StageError(
        `Cannot run stage "${task.stage}": what it computes must fit into memory, found ` +
          `"${text}"; lower the params that set its size`,
      );
    case "bug":
      return new StageError(`Stage "${task.stage}" failed\n${text}`);
  }
}

/** A process that ended without a word. */
function endOf({ stage }: Task, { signal, code }: Deno.CommandStatus): StageError {
  const how = signal ? `was killed by ${signal}` : `ended with code ${code}`;
  const memory = signal === "SIGKILL" ? " (often: out of memory)" : "";
  return new StageError(`Stage "${stage}" ${how}${memory} before it finished`);
}

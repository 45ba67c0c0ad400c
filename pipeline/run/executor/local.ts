/**
 * Runs a stage in a Deno process of its own that may reach only what the stage declared: its
 * scratch folder, its hosts; no package, no environment, no subprocess.
 *
 * @module
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { StageError } from "../../errors.ts";
import type { StageProgress } from "../../stage.ts";
import type { FailureKind, Message, Task } from "./protocol.ts";

/** What a stage may reach, resolved to flags. */
export interface Permissions {
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly hosts: readonly string[];
}

/** What an execution reports while it runs. */
export interface ExecutionListener {
  progress(progress: StageProgress): void;
  log(text: string): void;
}

/** How to start stage processes. */
export interface ExecutorOptions {
  readonly signal: AbortSignal;
}

const HOST = fileURLToPath(new URL("./host.ts", import.meta.url));

/**
 * The environment of a stage process. Deno lets a stage read none of it; it is for native parts:
 * where the package cache is, and which graphics drivers to load. Locale and time zone are fixed.
 */
function environment(): Record<string, string> {
  const passed: Record<string, string> = { LC_ALL: "C.UTF-8", TZ: "UTC", NO_COLOR: "1" };
  for (const [name, value] of Object.entries(Deno.env.toObject())) {
    if (/^(HOME|PATH|TMPDIR|DENO_DIR|LD_LIBRARY_PATH|XDG_.*|VK_.*)$/.test(name)) {
      passed[name] = value;
    }
  }
  return passed;
}

/**
 * Runs one task and returns the metrics it recorded.
 *
 * @throws {StageError} If the stage fails for a reason the user can act on.
 * @throws {Error} If it fails otherwise; the message has its stack and last output.
 */
export async function execute(
  task: Task,
  permissions: Permissions,
  listener: ExecutionListener,
  options: ExecutorOptions,
): Promise<Record<string, number>> {
  options.signal.throwIfAborted();
  const args = [
    "run",
    "--no-prompt",
    "--quiet",
    // Nothing but the modules that the key names: no package, no configuration, no cache of code.
    "--no-npm",
    "--no-remote",
    "--no-config",
    "--no-lock",
    "--no-code-cache",
    `--allow-read=${list(permissions.read)}`,
    `--allow-write=${list(permissions.write)}`,
  ];
  if (permissions.hosts.length > 0) args.push(`--allow-net=${permissions.hosts.join(",")}`);
  const child = new Deno.Command(Deno.execPath(), {
    args: [...args, HOST],
    cwd: dirname(task.module),
    env: environment(),
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch { /* it has ended */ }
  };
  options.signal.addEventListener("abort", kill);
  const stdin = child.stdin.getWriter();
  const metrics: Record<string, number> = {};
  let ended: Extract<Message, { type: "done" | "failed" }> | undefined;
  const tail: string[] = [];
  try {
    const writing = stdin.write(new TextEncoder().encode(`${JSON.stringify(task)}\n`))
      .catch(() => {/* it died early: its status tells more */});
    const reading = eachLine(child.stdout, (line) => {
      const message = parseMessage(line);
      if (message === undefined) listener.log(line);
      else if (message.type === "progress") listener.progress(message);
      else if (message.type === "metric") metrics[message.name] = message.value;
      else ended = message;
    });
    const logging = eachLine(child.stderr, (line) => {
      tail.push(line);
      if (tail.length > 20) tail.shift();
      listener.log(line);
    });
    await Promise.all([writing, reading, logging]);
    const status = await child.status;
    options.signal.throwIfAborted();
    if (ended?.type === "done") return metrics;
    if (ended?.type === "failed") throw toError(task, ended.kind, ended.message);
    const how = status.signal ? `was killed by ${status.signal}` : `ended with code ${status.code}`;
    const output = tail.length > 0 ? `; its last output:\n${tail.join("\n")}` : "";
    const memory = status.signal === "SIGKILL" ? " (often: out of memory)" : "";
    throw new StageError(`Stage "${task.stage}" ${how}${memory} before it finished${output}`);
  } finally {
    options.signal.removeEventListener("abort", kill);
    kill();
    await stdin.close().catch(() => {/* already closed by its end */});
  }
}

/** A list of paths as a permission flag takes it: a comma within a path is doubled. */
function list(paths: readonly string[]): string {
  return paths.map((path) => path.replaceAll(",", ",,")).join(",");
}

/** A message; `undefined` for a line that native code wrote past the redirected console. */
function parseMessage(line: string): Message | undefined {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function toError(task: Task, kind: FailureKind, message: string): Error {
  switch (kind) {
    case "expected":
      return new StageError(message);
    case "access":
      return new StageError(
        `Stage "${task.stage}" may not do this: ${
          message.split(", run again")[0]
        }; a stage reaches ` +
          `only its inputs, its outputs and what its definition's access names`,
      );
    case "memory":
      return new StageError(
        `Cannot run stage "${task.stage}": what it computes must fit into memory, found ` +
          `"${message}"; lower the params that set its size`,
      );
    case "bug":
      return new Error(`Stage "${task.stage}" failed\n${message}`);
  }
}

async function eachLine(
  stream: ReadableStream<Uint8Array>,
  take: (line: string) => void,
): Promise<void> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") take(line);
  }
  if (rest !== "") take(rest);
}

/**
 * Runs a command's program and follows it to its end.
 *
 * @module
 */
import { join } from "node:path";
import { StageError } from "../../../errors.ts";
import { lookAt, sortedEntries } from "../../../files.ts";
import { COMMAND_CONTRACT } from "../../../stage.ts";
import type { Command } from "../../../stage.ts";
import type { Execution, Metrics, Task } from "../../executor.ts";
import { cageArguments, environment, findCage, MAX_FILE_BYTES, STAGE, usersIn } from "./cage.ts";
import { type CommandEvent, Lines } from "./lines.ts";
import { systemCallFilter } from "./system_calls.ts";

/** A task whose stage is a command. */
export type CommandTask = Task & { readonly command: Command };

/** How to run. */
interface How {
  readonly uncaged: boolean;
  /** What binds a program to this process's life, where there is something. */
  readonly bound: readonly string[];
}

/**
 * Runs a command and returns the metrics that it recorded.
 *
 * @throws {StageError} If it fails, or leaves what it did not declare.
 */
export async function runCommand(
  task: CommandTask,
  { watch, signal }: Pick<Execution, "watch" | "signal">,
  how: How,
): Promise<Metrics> {
  watch.platform({ deno: Deno.version.deno });
  const { program, args, env, cwd, request } = await startOf(task, how);
  const child = new Deno.Command(program, {
    ...{ args: [...args], env, cwd, clearEnv: true, detached: true },
    ...{ stdin: "piped", stdout: "piped", stderr: "piped" },
  }).spawn();
  const metrics = await followed(child, request, { task, watch, signal });
  requireDeclared(task);
  return metrics;
}

/** What a program is started with. */
interface Start {
  readonly program: string;
  readonly args: readonly string[];
  readonly env: Record<string, string>;
  readonly cwd: string;
  /** What it reads. */
  readonly request: string;
}

async function startOf(task: CommandTask, { uncaged, bound }: How): Promise<Start> {
  const { command, folder } = task;
  const files = task.module;
  const temporary = join(folder, "tmp");
  Deno.mkdirSync(temporary);
  const own = command.files.includes(command.program);
  if (uncaged) {
    const program = own ? join(files, command.program) : command.program;
    const [first, ...args] = [...bound, program, ...command.arguments] as const;
    const env = { ...environment(temporary), ...command.variables };
    return { program: first!, args, env, cwd: files, request: requestOf(task, (path) => path) };
  }
  const cage = await findCage();
  if ("problem" in cage) throw new StageError(cage.problem);
  const filter = join(folder, "system_calls");
  Deno.writeFileSync(filter, systemCallFilter());
  const inside = {
    files: `${STAGE}/files`,
    inputs: `${STAGE}/inputs`,
    outputs: `${STAGE}/outputs`,
  };
  const wrapped = cageArguments({ ...cage, filter }, {
    mounts: [
      ...usersIn(folder),
      ...command.folders.map((path) => [path, path, "read"] as const),
      [files, inside.files, "read"],
      [join(folder, "inputs"), inside.inputs, "read"],
      [join(folder, "outputs"), inside.outputs, "write"],
      [temporary, "/tmp", "write"],
    ],
    variables: { ...environment("/tmp"), ...command.variables },
    cwd: inside.files,
  });
  const program = own ? `${inside.files}/${command.program}` : command.program;
  const [first, ...args] = [...bound, ...wrapped, program, ...command.arguments] as const;
  const request = requestOf(task, (path) => `${STAGE}${path.slice(folder.length)}`);
  return { program: first!, args, env: { PATH: "/usr/bin:/bin" }, cwd: folder, request };
}

/** What a program reads on its standard input: a line of JSON. */
function requestOf(task: CommandTask, at: (path: string) => string): string {
  const { stage, params, inputs, many, outputs } = task;
  const shown = Object.entries(inputs).map(([name, bound]) => {
    const all = bound.map(({ path, sha256, at: coordinates }) => ({
      path: at(path),
      sha256,
      ...(many.includes(name) ? { at: coordinates } : {}),
    }));
    return [name, many.includes(name) ? all : all[0]] as const;
  });
  const byName = (entries: readonly (readonly [string, unknown])[]) =>
    Object.fromEntries(entries.toSorted(([a], [b]) => a < b ? -1 : 1));
  return JSON.stringify({
    contract: COMMAND_CONTRACT,
    stage,
    params,
    inputs: byName(shown),
    outputs: byName(Object.entries(outputs).map(([name, path]) => [name, at(path)])),
  });
}

/** Hands a program its request and follows it to its end. */
async function followed(
  child: Deno.ChildProcess,
  request: string,
  { task, watch, signal }: Pick<Execution, "watch" | "signal"> & { readonly task: CommandTask },
): Promise<Metrics> {
  const kill = () => killAll(child.pid);
  signal.addEventListener("abort", kill, { once: true });
  if (signal.aborted) kill();
  const metrics = new Map<string, number>();
  let failed: string | undefined, first = "";
  const lines = new Lines({
    stage: task.stage,
    log: (text) => watch.log(text),
    event(event: CommandEvent) {
      if (event.type === "metric") metrics.set(event.name, event.value);
      else if (event.type === "failed") failed ??= event.message;
      else watch.progress(event);
    },
  });
  const decoder = new TextDecoder();
  try {
    const output = Promise.all([
      say(child, `${request}\n`),
      each(child.stdout, (piece) => lines.take(piece)).then(() => lines.end()),
      each(child.stderr, (piece) => {
        const text = decoder.decode(piece, { stream: true });
        first = (first + text).slice(0, MAX_FIRST);
        watch.log(text);
      }),
    ]);
    // What it leaves behind may hold its streams open; nothing of that counts.
    const ended = child.status.finally(kill);
    await Promise.all([output, ended]);
    const status = await ended;
    signal.throwIfAborted();
    if (failed !== undefined) throw new StageError(failed);
    if (status.code !== 0) throw endOf(task, status, first);
    return Object.fromEntries(metrics);
  } finally {
    signal.removeEventListener("abort", kill);
    kill();
    await child.status;
  }
}

async function each(stream: ReadableStream<Uint8Array>, take: (piece: Uint8Array) => void) {
  for await (const piece of stream) take(piece);
}

/** A program need not read its request. */
async function say({ stdin }: Deno.ChildProcess, text: string): Promise<void> {
  const writer = stdin.getWriter();
  try {
    await writer.write(new TextEncoder().encode(text));
    await writer.close();
  } catch { /* it ended; its status says how */ }
}

/** Ends a process that leads a group, and all of the group. */
function killAll(pid: number): void {
  for (const target of [-pid, pid]) {
    try {
      Deno.kill(target, "SIGKILL");
    } catch { /* it has ended */ }
  }
}

/** Characters of what it says first, in which bubblewrap says why there is no cage. */
const MAX_FIRST = 1000;

/** Exit codes of a shell, and of what makes cages: signals from here. */
const SIGNALLED = 128;
const SIGNALS: Readonly<Record<number, string>> = {
  4: "SIGILL",
  6: "SIGABRT",
  8: "SIGFPE",
  9: "SIGKILL (often: out of memory)",
  11: "SIGSEGV",
  15: "SIGTERM",
  25: `SIGXFSZ (a file may have at most ${MAX_FILE_BYTES} bytes)`,
};

function endOf(
  { stage, command }: CommandTask,
  status: Deno.CommandStatus,
  first: string,
): StageError {
  const notStarted = /^bwrap: execvp [^:]*: (.*)/.exec(first)?.[1];
  if (notStarted !== undefined) {
    return new StageError(
      `Stage "${stage}" cannot start ${command.program}: ${notStarted}; it must be a program for ` +
        "this machine",
    );
  }
  if (first.startsWith("bwrap: ")) {
    return new StageError(`Stage "${stage}" has no cage: ${first.split("\n")[0]!.slice(7)}`);
  }
  const { signal, code } = status;
  const name = signal ?? SIGNALS[code - SIGNALLED];
  const how = name === undefined ? `ended with code ${code}` : `was ended by ${name}`;
  return new StageError(`Stage "${stage}": ${command.program} ${how}`);
}

/** Holds what was written to what was declared: nothing besides, folders that are folders. */
function requireDeclared({ stage, folder, outputs }: CommandTask): void {
  const declared = new Set(Object.keys(outputs));
  const other = sortedEntries(join(folder, "outputs")).find(({ name }) => !declared.has(name));
  if (other === undefined) return;
  const found = lookAt(join(folder, "outputs", other.name))?.kind ?? "a file";
  throw new StageError(
    `Stage "${stage}" must write the outputs that its command declares, ` +
      `${[...declared].join(", ")}, and left ${found} "${other.name}" besides; what is temporary ` +
      "belongs in $TMPDIR",
  );
}

/**
 * The program of a stage's process: reads a task, runs the stage, reports. It runs with just the
 * permissions the stage declared.
 *
 * @module
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { refusal } from "../../errors.ts";
import type { Artifact, Run } from "../../stage.ts";
import {
  type FailureKind,
  type Message,
  OWNER_FILE,
  type Task,
  type TaskInput,
} from "./protocol.ts";

const encoder = new TextEncoder();

function send(message: Message): void {
  const bytes = encoder.encode(`${JSON.stringify(message)}\n`);
  for (let done = 0; done < bytes.length;) done += Deno.stdout.writeSync(bytes.subarray(done));
}

/** Whatever a stage or a package prints is for people: it must not mix with the messages. */
function redirectConsole(): void {
  const write = (...values: unknown[]) => {
    const text = values.map((value) => typeof value === "string" ? value : Deno.inspect(value));
    Deno.stderr.writeSync(encoder.encode(`${text.join(" ")}\n`));
  };
  for (const method of ["log", "info", "debug", "warn", "error"] as const) console[method] = write;
}

/** Reads the task, then leaves a reader behind that ends the process with its engine. */
async function readTask(): Promise<Task> {
  const reader = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) Deno.exit(3);
    text += value;
  }
  reader.read().then(() => Deno.exit(3), () => Deno.exit(3));
  return JSON.parse(text);
}

function toArtifact(input: TaskInput, many: boolean): Artifact {
  const { at, sha256, path, files } = input;
  return { at: many ? at : {}, sha256, path, files: new Map(files) };
}

/**
 * Checkpoints belong to one process at a time: one whose engine was killed may still be ending.
 */
async function ownCheckpoints(folder: string): Promise<void> {
  const file = await Deno.open(join(folder, OWNER_FILE), { write: true, create: true });
  await file.lock(true);
}

async function runTask(task: Task): Promise<void> {
  const { run } = await import(pathToFileURL(task.module).href) as { run: Run<unknown> };
  if (task.checkpoints !== undefined) await ownCheckpoints(task.checkpoints);
  const inputs = (name: string): readonly Artifact[] => {
    const bound = task.inputs[name];
    if (!bound) throw new TypeError(`Stage "${task.stage}" declares no input "${name}"`);
    return bound.map((input) => toArtifact(input, task.many.includes(name)));
  };
  await run({
    params: task.params,
    inputs,
    input(name) {
      if (task.many.includes(name)) {
        throw new TypeError(
          `Input "${name}" of stage "${task.stage}" is many: use inputs("${name}")`,
        );
      }
      return inputs(name)[0]!;
    },
    output(name) {
      const path = task.outputs[name];
      if (path === undefined) {
        throw new TypeError(`Stage "${task.stage}" declares no output "${name}"`);
      }
      return path;
    },
    backend: task.backend,
    mirror: task.mirror,
    checkpoints: task.checkpoints,
    progress: (progress) => send({ type: "progress", ...progress }),
    metric(name, value) {
      if (!Number.isFinite(value)) {
        throw new RangeError(
          `Metric "${name}" of stage "${task.stage}" must be finite, got ${value}`,
        );
      }
      send({ type: "metric", name, value });
    },
  });
}

function failure(error: unknown): { kind: FailureKind; message: string } {
  if (!(error instanceof Error)) return { kind: "bug", message: String(error) };
  const { name, message } = error;
  if (name === "NotCapable") return { kind: "access", message };
  // The stage's bundle has its own copy of these classes, so the name is what tells.
  if (/^(LockstepError|StageError|ConfigError)$/.test(name) || refusal(message) !== undefined) {
    return { kind: "expected", message };
  }
  if (name === "MemoryError" || lacksMemory(error)) return { kind: "memory", message };
  return { kind: "bug", message: error.stack ?? message };
}

/** Whether an array was to be larger than memory; a negative or fractional length is a bug. */
function lacksMemory({ name, message }: Error): boolean {
  if (name !== "RangeError") return false;
  const length = /^Invalid typed array length: (.+)$/.exec(message)?.[1];
  return message === "Array buffer allocation failed" || Number(length) >= 2 ** 32;
}

if (import.meta.main) {
  redirectConsole();
  const task = await readTask();
  try {
    await runTask(task);
    send({ type: "done" });
  } catch (error) {
    send({ type: "failed", ...failure(error) });
  }
  Deno.exit(0);
}

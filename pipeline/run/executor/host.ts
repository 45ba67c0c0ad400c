/**
 * The program of a stage's process: reads a task, runs the stage, reports. It runs with just the
 * permissions the stage declared. What it uses after the stage's code is loaded it takes before, so
 * that code which replaces built-ins neither reads nor forges a message.
 *
 * @module
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { refusal } from "../../errors.ts";
import { describeAdapter, findAdapter } from "../../key/adapter.ts";
import {
  type Artifact,
  CONTRACT,
  type Run,
  type StageContext,
  type StageProgress,
} from "../../stage.ts";
import { OWNER_FILE, type Task, type TaskInput } from "../executor.ts";
import { confine } from "./confine.ts";
import {
  type Assignment,
  type FailureKind,
  markOf,
  MAX_MESSAGE_BYTES,
  type Message,
  metricProblem,
  pinProblem,
  progressProblem,
  STOP,
} from "./protocol.ts";

/** Exit code of a process that ends because its engine did, or asked it to. */
const ENDED = 3;
/** Progress is sent at most this often. */
const PROGRESS_MS = 50;

type Send = (message: Message) => void;

/** What sends messages, made of built-ins as they are now. */
function openChannel(token: string): Send {
  const { stringify } = JSON;
  const Bytes = Uint8Array;
  const mark = markOf(token);
  const encoder = new TextEncoder();
  const encodeInto = encoder.encodeInto.bind(encoder);
  const write = Deno.stdout.writeSync.bind(Deno.stdout);
  const memory = new ArrayBuffer(mark.length + MAX_MESSAGE_BYTES);
  const whole = new Bytes(memory);
  return (message) => {
    const text = `${mark}${stringify(message)}\n`;
    const { read, written } = encodeInto(text, whole);
    if (read < text.length) {
      throw new RangeError(`What a stage reports at once must fit in ${MAX_MESSAGE_BYTES} bytes`);
    }
    for (let done = 0; done < written;) done += write(new Bytes(memory, done, written - done));
  };
}

/** Whatever is printed through the console comes on one stream, in order. */
function redirectConsole(): void {
  const encoder = new TextEncoder();
  const write = (...values: unknown[]) => {
    const text = values.map((value) => typeof value === "string" ? value : Deno.inspect(value));
    const bytes = encoder.encode(`${text.join(" ")}\n`);
    for (let done = 0; done < bytes.length;) done += Deno.stderr.writeSync(bytes.subarray(done));
  };
  for (const method of ["log", "info", "debug", "warn", "error"] as const) console[method] = write;
}

/** Reads the task, then goes on reading: `onStop` where the engine asks for it; its end is ours. */
async function readAssignment(onStop: () => void): Promise<Assignment> {
  const reader = Deno.stdin.readable.pipeThrough(new TextDecoderStream()).getReader();
  const exit = () => Deno.exit(ENDED);
  let text = "";
  const readLine = async (): Promise<string> => {
    while (!text.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) return exit();
      text += value;
    }
    const end = text.indexOf("\n");
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    return line;
  };
  const assignment: Assignment = JSON.parse(await readLine());
  const listen = async () => {
    for (;;) if (await readLine() === STOP) onStop();
  };
  listen().catch(exit);
  return assignment;
}

/** Asks the stage to stop; ends the process if the stage would not hear of it. */
class Stop {
  readonly #controller = new AbortController();
  #heard = false;

  get signal(): AbortSignal {
    this.#heard = true;
    return this.#controller.signal;
  }

  request(): void {
    if (!this.#heard) Deno.exit(ENDED);
    this.#controller.abort();
  }
}

function toArtifact(input: TaskInput, many: boolean): Artifact {
  const { at, sha256, path, files } = input;
  return { at: many ? at : {}, sha256, path, files: new Map(files) };
}

/** Sends progress now and then; `flush` sends what was held back. */
function progressSender(stage: string, send: Send) {
  const now = performance.now.bind(performance), later = setTimeout;
  let sentAt = -Infinity, held: Message | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (held === undefined) return;
    sentAt = now();
    const message = held;
    held = undefined;
    send(message);
  };
  const report = ({ done, total, unit, values }: StageProgress) => {
    const progress = { done, total, unit, ...(values === undefined ? {} : { values }) };
    const problem = progressProblem(progress);
    if (problem !== undefined) {
      throw new TypeError(`Stage "${stage}" cannot report its progress: ${problem}`);
    }
    held = { type: "progress", ...progress };
    if (now() - sentAt >= PROGRESS_MS) flush();
    else timer ??= later(flush, PROGRESS_MS);
  };
  return { report, flush };
}

/** What the stage gets. */
function contextOf(
  task: Task,
  { send, stop, report }: { send: Send; stop: Stop; report: (progress: StageProgress) => void },
): StageContext<unknown> {
  const inputs = (name: string): readonly Artifact[] => {
    const bound = task.inputs[name];
    if (!bound) throw new TypeError(`Stage "${task.stage}" declares no input "${name}"`);
    return bound.map((input) => toArtifact(input, task.many.includes(name)));
  };
  const context = {
    params: task.params,
    inputs,
    input(name: string) {
      if (task.many.includes(name)) {
        throw new TypeError(
          `Input "${name}" of stage "${task.stage}" is many: use inputs("${name}")`,
        );
      }
      return inputs(name)[0]!;
    },
    output(name: string) {
      const path = task.outputs[name];
      if (path === undefined) {
        throw new TypeError(`Stage "${task.stage}" declares no output "${name}"`);
      }
      return path;
    },
    mirror: task.mirror,
    checkpoints: task.checkpoints,
    get stopping() {
      return stop.signal;
    },
    progress: report,
    metric(name: string, value: number) {
      const problem = metricProblem(name, value);
      if (problem !== undefined) {
        throw new RangeError(`Stage "${task.stage}" cannot record metric "${name}": ${problem}`);
      }
      send({ type: "metric", name, value });
    },
    pin(name, value) {
      const problem = pinProblem(name, value);
      if (problem !== undefined) {
        throw new RangeError(`Stage "${task.stage}" cannot pin what it saw: ${problem}`);
      }
      send({ type: "pin", name, value });
    },
  };
  const absent = () => {
    throw new TypeError(
      `Stage "${task.stage}" has no backend: only a stage that declares numeric computes on one, ` +
        "and has it in its key",
    );
  };
  // Where it throws it is not enumerable: code may copy a context that has no use for it.
  const backend = task.backend === undefined
    ? { get: absent }
    : { value: task.backend, enumerable: true };
  return Object.defineProperty(context, "backend", backend) as StageContext<unknown>;
}

/**
 * Checkpoints belong to one process at a time: one whose engine was killed may still be ending.
 */
async function ownCheckpoints(folder: string): Promise<void> {
  const file = await Deno.open(join(folder, OWNER_FILE), { write: true, create: true });
  await file.lock(true);
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
  return { kind: "bug", message: ownFrames(error.stack ?? message) };
}

/** A stack without the engine's frames. */
function ownFrames(stack: string): string {
  const engine = new URL("./", import.meta.url).href;
  return stack.split("\n").filter((line) => !(/^\s+at /.test(line) && line.includes(engine)))
    .join("\n");
}

/** Whether an array was to be larger than memory; a negative or fractional length is a bug. */
function lacksMemory({ name, message }: Error): boolean {
  if (name !== "RangeError") return false;
  const length = /^Invalid typed array length: (.+)$/.exec(message)?.[1];
  return message === "Array buffer allocation failed" || Number(length) >= 2 ** 32;
}

/** A failure's message as long as a message can be. */
const MAX_FAILURE_CHARACTERS = 20_000;

async function main(): Promise<void> {
  redirectConsole();
  const stop = new Stop();
  const { token, engine, task } = await readAssignment(() => stop.request());
  // An engine that died before this process was bound to its life.
  if (Deno.ppid !== engine) Deno.exit(ENDED);
  const send = openChannel(token);
  const adapter = task.backend === "webgpu" ? await findAdapter() : undefined;
  send({
    type: "ready",
    contract: CONTRACT,
    deno: Deno.version.deno,
    ...(adapter ? { adapter: describeAdapter(adapter) } : {}),
  });
  confine({ gpu: task.backend === "webgpu" });
  const { report, flush } = progressSender(task.stage, send);
  const end = (message: Message) => {
    flush();
    send(message);
    Deno.exit(0);
  };
  const fail = (error: unknown) => {
    const { kind, message } = failure(error);
    end({ type: "failed", kind, message: message.slice(0, MAX_FAILURE_CHARACTERS) });
  };
  // What goes wrong beside the stage's own promise.
  globalThis.addEventListener("error", (event) => fail(event.error));
  globalThis.addEventListener("unhandledrejection", (event) => fail(event.reason));
  try {
    const { run } = await import(pathToFileURL(task.module).href) as { run: Run<unknown> };
    if (task.checkpoints !== undefined) await ownCheckpoints(task.checkpoints);
    await run(contextOf(task, { send, stop, report }));
    end({ type: "done" });
  } catch (error) {
    fail(error);
  }
}

if (import.meta.main) await main();

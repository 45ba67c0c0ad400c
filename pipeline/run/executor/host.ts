/**
 * The program of a stage's process: reads a task, runs the stage, reports. It runs with just the
 * permissions the stage declared. What it uses after the stage's code is loaded it takes before, so
 * that code which replaces built-ins neither reads nor forges a message.
 *
 * @module
 */
import { Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describeAdapter, findAdapter } from "../../key/adapter.ts";
import { StageError } from "../../errors.ts";
import { CONTRACT, type Run } from "../../stage.ts";
import { OWNER_FILE } from "../executor.ts";
import { confine } from "./confine.ts";
import { contextOf, progressSender } from "./context.ts";
import { failure } from "./failure.ts";
import { type Assignment, markOf, MAX_MESSAGE_BYTES, type Message, STOP } from "./protocol.ts";

/** Exit code of a process that ends because its engine did, or asked it to. */
const ENDED = 3;

type Send = (message: Message) => void;

/**
 * What sends messages, made of built-ins as they are now. The token is kept as bytes of a buffer alone:
 * a stage can have a snapshot of the heap, in which all strings that anything refers to are.
 */
function openChannel(token: string): Send {
  const { stringify } = JSON;
  const Bytes = Uint8Array;
  const encoder = new TextEncoder();
  const encodeInto = encoder.encodeInto.bind(encoder);
  const write = Deno.stdout.writeSync.bind(Deno.stdout);
  const mark = encoder.encode(markOf(token));
  const memory = new ArrayBuffer(mark.length + MAX_MESSAGE_BYTES);
  const start = mark.length, room = new Bytes(memory, start);
  new Bytes(memory).set(mark);
  return (message) => {
    const text = `${stringify(message)}\n`;
    const { read, written } = encodeInto(text, room);
    if (read < text.length) {
      throw new RangeError(`What a stage reports at once must fit in ${MAX_MESSAGE_BYTES} bytes`);
    }
    const end = start + written;
    for (let done = 0; done < end;) done += write(new Bytes(memory, done, end - done));
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

/** What the process is given, the token being in what sends alone. */
interface Given extends Omit<Assignment, "token"> {
  readonly send: Send;
}

/**
 * Reads the task, then goes on reading: `onStop` where the engine asks for it; its end is ours. What
 * may still come keeps the process going no longer than the stage does.
 */
function readAssignment(onStop: () => void): Promise<Given> {
  const exit = () => Deno.exit(ENDED);
  const input = new Socket({ fd: 0, readable: true, writable: false });
  const { promise, resolve, reject } = Promise.withResolvers<Given>();
  let take = (line: string) => {
    try {
      const { token, ...given }: Assignment = JSON.parse(line);
      resolve({ ...given, send: openChannel(token) });
    } catch (error) {
      reject(error);
    }
    input.unref();
    take = (line) => {
      if (line === STOP) onStop();
    };
  };
  let text = "";
  input.setEncoding("utf8").on("end", exit).on("error", exit).on("data", (piece: string) => {
    text += piece;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      take(line);
    }
  });
  return promise;
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

/**
 * Checkpoints belong to one process at a time: one whose engine was killed may still be ending.
 */
async function ownCheckpoints(folder: string): Promise<void> {
  const file = await Deno.open(join(folder, OWNER_FILE), { write: true, create: true });
  await file.lock(true);
}

/** A failure's message as long as a message can be. */
const MAX_FAILURE_CHARACTERS = 20_000;

const NEVER_SETTLES =
  "Cannot finish: the promise that run returns must settle, and it waits for what nothing is left to " +
  "bring about; look for a promise that is never resolved, or a callback that is never called";

async function main(): Promise<void> {
  redirectConsole();
  const stop = new Stop();
  const { send, engine, task } = await readAssignment(() => stop.request());
  // An engine that died before this process was bound to its life.
  if (Deno.ppid !== engine) Deno.exit(ENDED);
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
  // Comes when there is nothing left to happen.
  globalThis.addEventListener("beforeunload", () => fail(new StageError(NEVER_SETTLES)));
  try {
    const { run } = await import(pathToFileURL(task.module).href) as { run: Run<unknown> };
    if (task.checkpoints !== undefined) await ownCheckpoints(task.checkpoints);
    await run(contextOf(task, {
      progress: report,
      metric: (name, value) => send({ type: "metric", name, value }),
      pin: (name, value) => send({ type: "pin", name, value }),
      stopping: () => stop.signal,
    }));
    end({ type: "done" });
  } catch (error) {
    fail(error);
  }
}

// Not awaited here: of a module that never ends its loading Deno says no more than that.
if (import.meta.main) main();

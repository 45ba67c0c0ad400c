/**
 * The engine's talk with a stage's process: the task, then what comes of it, to the process's end.
 *
 * @module
 */
import { dirname } from "node:path";
import { StageError } from "../../errors.ts";
import { unreachable } from "../../event.ts";
import { CONTRACT } from "../../stage.ts";
import type { Execution, Metrics, Task, Watch } from "../executor.ts";
import { Channel } from "./channel.ts";
import { type Assignment, type FailureKind, type Message, STOP } from "./protocol.ts";

/** How long a stage that was asked to stop may take to save its state. */
const GRACE_MS = 5000;

/** Hands a process its task, follows it to its end and returns the metrics that it recorded. */
export async function follow(
  child: Deno.ChildProcess,
  task: Task,
  { watch, signal }: Pick<Execution, "watch" | "signal">,
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
  // While the process was started; of what it has not begun, nothing is to be saved.
  if (signal.aborted) kill();
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

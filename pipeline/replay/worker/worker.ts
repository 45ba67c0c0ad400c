/**
 * The program of a worker in which a recorded instance runs again: files in memory, and none of what
 * a page or Deno would give it. What a stage is handed is made by the engine's own module.
 *
 * @module
 */
import type { Task } from "../../run/executor.ts";
import { contextOf, progressSender } from "../../run/executor/context.ts";
import type { Message as ProcessMessage } from "../../run/executor/protocol.ts";
import type { Run, StageProgress } from "../../stage.ts";
import { denoOver, type Files } from "./files.ts";

/** What is to run. */
export interface Assignment {
  readonly task: Task;
  readonly files: readonly (readonly [path: string, content: Uint8Array<ArrayBuffer>])[];
  readonly folders: readonly string[];
}

/** What a worker sends. The first of `done` and `failed` counts. */
export type Message =
  | ({ readonly type: "progress" } & StageProgress)
  | { readonly type: "metric"; readonly name: string; readonly value: number }
  | { readonly type: "log"; readonly text: string }
  | {
    readonly type: "done";
    readonly files: readonly (readonly [path: string, content: Uint8Array<ArrayBuffer>])[];
  }
  | { readonly type: "failed"; readonly message: string };

const scope = globalThis as unknown as { postMessage(message: Message): void };
// Taken before a stage's code is loaded, which may replace it.
const post = scope.postMessage.bind(scope);

/** Globals that reach beyond the worker, or differ between machines. */
const REMOVED = [
  ...["Deno", "process", "Buffer", "global", "Worker", "SharedWorker", "BroadcastChannel"],
  ...["indexedDB", "caches", "localStorage", "sessionStorage", "WebSocket", "EventSource"],
  ...["XMLHttpRequest", "WebTransport", "importScripts", "SharedArrayBuffer", "close"],
];

/** As much of Node's as packages ask for when they load. */
const Buffer = {
  alloc: (size: number) => new Uint8Array(size),
  from: (data: string | ArrayLike<number>) =>
    typeof data === "string" ? new TextEncoder().encode(data) : Uint8Array.from(data),
};

function confine(files: Files, { gpu }: { readonly gpu: boolean }): void {
  for (const name of REMOVED) {
    Reflect.deleteProperty(globalThis, name);
    // What its prototype has is hidden.
    if (name in globalThis) Object.defineProperty(globalThis, name, { value: undefined });
  }
  Object.defineProperty(globalThis, "Deno", { value: denoOver(files), configurable: true });
  Object.defineProperty(globalThis, "Buffer", { value: Buffer, configurable: true });
  const fixed = { hardwareConcurrency: 1, ...(gpu ? {} : { gpu: undefined }) };
  for (const [name, value] of Object.entries(fixed)) {
    Object.defineProperty(navigator, name, { get: () => value });
  }
  for (const method of ["log", "info", "debug", "warn", "error"] as const) {
    console[method] = (...values) => post({ type: "log", text: values.map(String).join(" ") });
  }
}

/**
 * Runs a task and sends what it leaves.
 *
 * @param module URL of the module that exports `run`.
 */
export async function work(
  { task, files: given, folders }: Assignment,
  module: string,
): Promise<void> {
  const files: Files = new Map([
    ...folders.map((path) => [path, undefined] as const),
    ...given,
  ]);
  confine(files, { gpu: task.backend === "webgpu" });
  const { report, flush } = progressSender(task.stage, post as (message: ProcessMessage) => void);
  const { run } = await import(module) as { run: Run<unknown> };
  await run(contextOf(task, {
    progress: report,
    metric: (name, value) => post({ type: "metric", name, value }),
    pin() {},
    stopping: () => new AbortController().signal,
  }));
  flush();
  const written = [...files].flatMap(([path, content]) =>
    content !== undefined && path.startsWith("/outputs/") ? [[path, content] as const] : []
  );
  post({ type: "done", files: written });
}

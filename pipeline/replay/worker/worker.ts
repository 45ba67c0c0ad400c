/**
 * The program of a worker in which a recorded instance runs again: files in memory, and none of what
 * a page or Deno would give it. What a stage is handed is made by the engine's own module.
 *
 * @module
 */
import type { Task } from "../../run/executor.ts";
import { contextOf } from "../../run/executor/context.ts";
import type { Run, StageProgress } from "../../stage.ts";
import { denoOver, type Files } from "./files.ts";

/** What a worker is sent: once. */
export interface Assignment {
  readonly task: Task;
  /** URL of the module that exports `run`. */
  readonly module: string;
  readonly files: readonly (readonly [path: string, content: Uint8Array<ArrayBuffer>])[];
  readonly folders: readonly string[];
}

/** What a worker sends. The first of `done` and `failed` counts. */
export type Message =
  | { readonly type: "ready" }
  | { readonly type: "progress"; readonly progress: StageProgress }
  | { readonly type: "metric"; readonly name: string; readonly value: number }
  | { readonly type: "log"; readonly text: string }
  | {
    readonly type: "done";
    readonly files: readonly (readonly [path: string, content: Uint8Array<ArrayBuffer>])[];
  }
  | { readonly type: "failed"; readonly message: string };

const scope = globalThis as unknown as {
  postMessage(message: Message): void;
  onmessage: ((event: { readonly data: Assignment }) => void) | null;
};
const post = scope.postMessage.bind(scope);

/** Globals that reach beyond the worker, or differ between machines. */
const REMOVED = [
  ...["Deno", "process", "Buffer", "global", "Worker", "SharedWorker", "BroadcastChannel"],
  ...["indexedDB", "caches", "localStorage", "sessionStorage", "WebSocket", "EventSource"],
  ...["XMLHttpRequest", "WebTransport", "importScripts", "SharedArrayBuffer"],
];

/** As much of Node's as packages ask for when they load. */
const Buffer = {
  alloc: (size: number) => new Uint8Array(size),
  from: (data: string | ArrayLike<number>) =>
    typeof data === "string" ? new TextEncoder().encode(data) : Uint8Array.from(data),
};

function confine(files: Files, { gpu }: { readonly gpu: boolean }): void {
  for (const name of REMOVED) Reflect.deleteProperty(globalThis, name);
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

async function work({ task, module, files: given, folders }: Assignment): Promise<void> {
  const files: Files = new Map([
    ...folders.map((path) => [path, undefined] as const),
    ...given,
  ]);
  confine(files, { gpu: task.backend === "webgpu" });
  const { run } = await import(module) as { run: Run<unknown> };
  await run(contextOf(task, {
    progress: (progress) => post({ type: "progress", progress }),
    metric: (name, value) => post({ type: "metric", name, value }),
    pin() {},
    stopping: () => new AbortController().signal,
  }));
  const written = [...files].flatMap(([path, content]) =>
    content !== undefined && path.startsWith("/outputs/") ? [[path, content] as const] : []
  );
  post({ type: "done", files: written });
}

scope.onmessage = ({ data }) => {
  scope.onmessage = null;
  work(data).catch((error: unknown) => {
    post({
      type: "failed",
      message: error instanceof Error ? error.stack ?? error.message : String(error),
    });
  });
};
post({ type: "ready" });

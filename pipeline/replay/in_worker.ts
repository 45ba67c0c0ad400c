/**
 * Runs a task in a worker: files in memory, no right to anything else.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import type { StageProgress } from "../stage.ts";
import { type Modules, OWN_MODULES, PROGRAM, START } from "./modules.ts";
import type { Start } from "./worker/start.ts";
import type { Assignment, Message } from "./worker/worker.ts";

/** The path of a stage's own module among those that it is run with. */
export const STAGE_MODULE = "stage.mjs";

/** Files that a stage left, by absolute path. */
export type WrittenFiles = Extract<Message, { type: "done" }>["files"];

/** What a task left. */
export interface Left {
  readonly files: WrittenFiles;
  readonly metrics: Readonly<Record<string, number>>;
}

/** What is shown of what a failed stage printed. */
const MAX_PRINTED = 2000;

/**
 * Runs a task.
 *
 * @param work.modules The stage's, {@linkcode STAGE_MODULE} among them.
 * @throws {LockstepError} If it fails.
 */
export async function inWorker(
  { modules, assignment }: { readonly modules: Modules; readonly assignment: Assignment },
  onProgress: (progress: StageProgress) => void,
): Promise<Left> {
  const { promise, resolve, reject } = Promise.withResolvers<WrittenFiles>();
  const metrics = new Map<string, number>();
  let printed = "";
  const fail = (what: string) => {
    const log = printed === "" ? "" : `\nIt printed:\n${printed.slice(-MAX_PRINTED)}`;
    reject(new LockstepError(`Cannot run ${assignment.task.stage} again: ${what}${log}`));
  };
  // Deno's own option, which browsers pass over.
  const options = { type: "module", deno: { permissions: "none" } } as WorkerOptions;
  const worker = new Worker(START, options);
  worker.onmessage = ({ data }: MessageEvent<Message>) => {
    if (data.type === "progress") onProgress(data);
    else if (data.type === "metric") metrics.set(data.name, data.value);
    else if (data.type === "log") printed += `${data.text}\n`;
    else if (data.type === "done") resolve(data.files);
    else fail(data.message);
  };
  worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message ?? "its worker could not be started");
  };
  try {
    const start: Start = {
      modules: new Map([...OWN_MODULES, ...modules]),
      ...{ program: PROGRAM, module: STAGE_MODULE, assignment },
    };
    worker.postMessage(start);
    return { files: await promise, metrics: Object.fromEntries(metrics) };
  } finally {
    worker.terminate();
  }
}

/**
 * Runs a task in a worker: files in memory, no right to anything else.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import type { StageProgress } from "../stage.ts";
import { isRecord, isRecordOf, isText } from "../store/shape.ts";
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

/** What is shown of what a failed stage printed, and of why it failed. */
const MAX_PRINTED = 2000;
/** How long a worker may say nothing, and run, before it is given up: it may have closed itself. */
const MAX_SILENCE_MS = 30 * 60_000;
const MAX_MS = 24 * 60 * 60_000;

/**
 * Runs a task.
 *
 * @param work.modules The stage's, {@linkcode STAGE_MODULE} among them.
 * @throws {LockstepError} If it fails.
 */
export async function inWorker(
  { modules, assignment, maxSilence = MAX_SILENCE_MS }: {
    readonly modules: Modules;
    readonly assignment: Assignment;
    /** In milliseconds. */
    readonly maxSilence?: number;
  },
  onProgress: (progress: StageProgress) => void,
): Promise<Left> {
  const { promise, resolve, reject } = Promise.withResolvers<WrittenFiles>();
  const metrics = new Map<string, number>();
  let printed = "";
  const fail = (what: string) => {
    const log = printed === "" ? "" : `\nIt printed:\n${printed}`;
    reject(new LockstepError(`Cannot run ${assignment.task.stage} again: ${what}${log}`));
  };
  // Deno's own option, which browsers pass over.
  const options = { type: "module", deno: { permissions: "none" } } as WorkerOptions;
  const worker = new Worker(START, options);
  const giveUp = () => fail(`it was silent for ${maxSilence / 60_000} min, or closed itself`);
  const limit = setTimeout(() => fail(`it took more than ${MAX_MS / 3_600_000} h`), MAX_MS);
  let silence = setTimeout(giveUp, maxSilence);
  worker.onmessage = ({ data }: MessageEvent<unknown>) => {
    clearTimeout(silence);
    silence = setTimeout(giveUp, maxSilence);
    // The stage's code can send anything.
    try {
      if (!isMessage(data)) fail("it sent what no stage sends");
      else if (data.type === "progress") onProgress(data);
      else if (data.type === "metric") metrics.set(data.name, data.value);
      else if (data.type === "log") {
        printed = `${printed}${data.text.slice(-MAX_PRINTED)}\n`.slice(-MAX_PRINTED);
      } else if (data.type === "done") resolve(data.files);
      else fail(data.message.slice(0, MAX_PRINTED));
    } catch (error) {
      fail(`what it sent can't be taken: ${error instanceof Error ? error.message : error}`);
    }
  };
  worker.onmessageerror = () => fail("it sent what can't be read");
  worker.onerror = (event) => {
    event.preventDefault();
    fail(event.message?.slice(0, MAX_PRINTED) ?? "its worker could not be started");
  };
  try {
    const start: Start = {
      modules: new Map([...OWN_MODULES, ...modules]),
      ...{ program: PROGRAM, module: STAGE_MODULE, assignment },
    };
    worker.postMessage(start);
    return { files: await promise, metrics: Object.fromEntries(metrics) };
  } finally {
    clearTimeout(limit);
    clearTimeout(silence);
    worker.terminate();
  }
}

function isMessage(data: unknown): data is Message {
  if (!isRecord(data)) return false;
  const { type, name, value, text, message, files, done, total, unit, values } = data;
  if (type === "metric") return isText(name) && typeof value === "number";
  if (type === "log") return isText(text);
  if (type === "failed") return isText(message);
  if (type === "progress") {
    return typeof done === "number" && typeof total === "number" && isText(unit) &&
      isRecordOf(values ?? {}, (each) => typeof each === "number");
  }
  return type === "done" && Array.isArray(files) &&
    files.every((file) => Array.isArray(file) && isText(file[0]) && file[1] instanceof Uint8Array);
}

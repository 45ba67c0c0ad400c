/**
 * What a stage gets: its params, inputs and outputs, and what it reports through.
 *
 * @module
 */
import type { Artifact, StageContext, StageProgress } from "../../stage.ts";
import type { Task, TaskInput } from "../executor.ts";
import { type Message, metricProblem, pinProblem, progressProblem } from "./protocol.ts";

/** Progress is sent at most this often. */
const PROGRESS_MS = 50;

function toArtifact(input: TaskInput, many: boolean): Artifact {
  const { at, sha256, path, files } = input;
  return { at: many ? at : {}, sha256, path, files: new Map(files) };
}

/** What a context reports through. */
export interface Reports {
  readonly progress: (progress: StageProgress) => void;
  readonly metric: (name: string, value: number) => void;
  readonly pin: (name: string, value: string) => void;
  /** The signal to stop; taken when a stage asks for it. */
  readonly stopping: () => AbortSignal;
}

/** Sends progress now and then; `flush` sends what was held back. */
export function progressSender(
  stage: string,
  send: (message: Message) => void,
): { readonly report: (progress: StageProgress) => void; readonly flush: () => void } {
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

/** The context of a task's stage. */
export function contextOf(task: Task, reports: Reports): StageContext<unknown> {
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
      return reports.stopping();
    },
    progress: reports.progress,
    metric(name: string, value: number) {
      const problem = metricProblem(name, value);
      if (problem !== undefined) {
        throw new RangeError(`Stage "${task.stage}" cannot record metric "${name}": ${problem}`);
      }
      reports.metric(name, value);
    },
    pin(name: string, value: string) {
      const problem = pinProblem(name, value);
      if (problem !== undefined) {
        throw new RangeError(`Stage "${task.stage}" cannot pin what it saw: ${problem}`);
      }
      reports.pin(name, value);
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

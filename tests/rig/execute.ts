/**
 * Runs the code of a stage in a process as the engine does, without a project or a store: for tests
 * of what a stage's process can do and what it can't.
 *
 * @module
 */
import { join } from "node:path";
import type { Metrics, ProcessPlatform, Task, Watch } from "../../pipeline/run/executor.ts";
import { LocalExecutor } from "../../pipeline/run/executor/local.ts";
import type { StageProgress } from "../../pipeline/stage.ts";
import { temporaryFolder } from "./temporary.ts";

/** What a task left, or how it failed. */
export interface Executed {
  readonly metrics: Metrics;
  readonly error: Error | undefined;
  readonly platform: ProcessPlatform | undefined;
  readonly progress: readonly StageProgress[];
  /** The end of all that it printed, and how long that was. */
  readonly printed: string;
  readonly characters: number;
  /** The text of the output `text`; `undefined` if it wrote none. */
  readonly text: string | undefined;
}

/** How to run. */
export interface ExecuteOptions {
  readonly task?: Partial<Task>;
  readonly signal?: AbortSignal;
  readonly watch?: Partial<Watch>;
  readonly executor?: LocalExecutor;
  readonly adapters?: readonly number[];
}

const KEPT_CHARACTERS = 10_000;
let root: string | undefined;
let count = 0;

/** Runs the body of a stage's `run(context)`, JavaScript. */
export async function execute(body: string, options: ExecuteOptions = {}): Promise<Executed> {
  const folder = join(root ??= temporaryFolder(), `task-${count++}`);
  const outputs = join(folder, "outputs");
  Deno.mkdirSync(outputs, { recursive: true });
  const module = join(folder, "stage.mjs");
  Deno.writeTextFileSync(module, `export async function run(context) {\n${body}\n}\n`);
  const text = join(outputs, "text");
  const task: Task = {
    stage: "tried",
    module,
    folder,
    params: {},
    inputs: {},
    many: [],
    outputs: { text },
    ...options.task,
  };
  const checkpoints = task.checkpoints === undefined ? [] : [task.checkpoints];
  const progress: StageProgress[] = [];
  let platform: ProcessPlatform | undefined, printed = "", characters = 0;
  const watch: Watch = {
    pin() {},
    platform: (found) => platform = found,
    progress: (each) => progress.push(each),
    log(piece) {
      characters += piece.length;
      printed = (printed + piece).slice(-KEPT_CHARACTERS);
    },
    ...options.watch,
  };
  let metrics: Metrics = {}, error: Error | undefined;
  try {
    metrics = await (options.executor ?? new LocalExecutor()).execute(task, {
      share: { gpus: 0, memoryBytes: 0, cpus: 1, adapters: options.adapters ?? [] },
      reach: {
        read: [folder, ...checkpoints],
        write: [outputs, ...checkpoints],
        hosts: [],
        secrets: [],
      },
      cache: join(folder, "../deno"),
      watch,
      signal: options.signal ?? new AbortController().signal,
    });
  } catch (cause) {
    error = cause as Error;
  }
  let written: string | undefined;
  try {
    written = Deno.readTextFileSync(text);
  } catch { /* it wrote none */ }
  return { metrics, error, platform, progress, printed, characters, text: written };
}

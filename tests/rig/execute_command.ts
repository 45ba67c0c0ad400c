/**
 * Runs a command as the engine does, without a project or a store: for tests of what its program can do
 * and what it can't. Its scripts are of the shell and of Perl, which every Debian has.
 *
 * @module
 */
import { join } from "node:path";
import type { Metrics, Task } from "../../pipeline/run/executor.ts";
import { findCage } from "../../pipeline/run/executor/command/cage.ts";
import { LocalExecutor } from "../../pipeline/run/executor/local.ts";
import type { Command, StageProgress } from "../../pipeline/stage.ts";
import { temporaryFolder } from "./temporary.ts";

/** A command of the shell. */
export const SHELL: Command = {
  folder: "experiments/x",
  program: "/bin/bash",
  arguments: ["script.sh"],
  files: ["script.sh"],
  packages: [],
  folders: [],
  asks: {},
  variables: {},
};

/** What a program left, or how it failed. */
export interface RanCommand {
  readonly metrics: Metrics;
  readonly error: Error | undefined;
  readonly progress: readonly StageProgress[];
  /** The end of all that it printed, and how long that was. */
  readonly printed: string;
  readonly characters: number;
  /** The folder of the outputs. */
  readonly outputs: string;
  /** The folder of the task. */
  readonly folder: string;
}

/** How to run; all have a default. */
export interface RunCommandOptions {
  readonly command?: Partial<Command>;
  readonly task?: Partial<Task>;
  readonly uncaged?: boolean;
  readonly signal?: AbortSignal;
  /** Of its input `text`. */
  readonly input?: string;
}

const KEPT_CHARACTERS = 20_000;

/**
 * Says whether commands can be tried here; where not, why, on standard error.
 *
 * @throws {Error} If they can't and LOCKSTEP_REQUIRE_CAGE is set.
 */
export async function hasCage(): Promise<boolean> {
  const cage = await findCage();
  if (!("problem" in cage)) return true;
  const message = `Commands cannot be tried here: ${cage.problem}`;
  if (Deno.env.get("LOCKSTEP_REQUIRE_CAGE")) throw new Error(message);
  console.error(`SKIPPED: ${message}`);
  return false;
}

/** Runs a script that has an input `text` and may write an output `text`. */
export async function executeCommand(
  script: string,
  options: RunCommandOptions = {},
): Promise<RanCommand> {
  const folder = join(temporaryFolder(), "task");
  const [files, inputs, outputs] = ["files", "inputs", "outputs"].map((name) => join(folder, name));
  for (const path of [files!, inputs!, outputs!]) Deno.mkdirSync(path, { recursive: true });
  Deno.writeTextFileSync(join(files!, "script.sh"), script, { mode: 0o555 });
  const text = join(inputs!, "text");
  Deno.writeTextFileSync(text, options.input ?? "given\n", { mode: 0o444 });
  const task: Task = {
    stage: "tried",
    module: files!,
    command: { ...SHELL, ...options.command },
    folder,
    params: { rate: 0.5 },
    inputs: { text: [{ at: {}, sha256: "0".repeat(64), path: text, files: [] }] },
    many: [],
    outputs: { text: join(outputs!, "text") },
    ...options.task,
  };
  const progress: StageProgress[] = [];
  let printed = "", characters = 0, metrics: Metrics = {}, error: Error | undefined;
  try {
    const executor = new LocalExecutor({ uncaged: options.uncaged ?? false });
    const examined = await executor.examine(task.command!);
    if ("violation" in examined) throw new Error(examined.violation.message);
    metrics = await executor.execute(task, {
      share: { gpus: 0, memoryBytes: 0, cpus: 1, adapters: [] },
      reach: { read: [], write: [], hosts: [], secrets: [] },
      cache: folder,
      watch: {
        pin() {},
        platform() {},
        progress: (each) => progress.push(each),
        log(piece) {
          characters += piece.length;
          printed = (printed + piece).slice(-KEPT_CHARACTERS);
        },
      },
      signal: options.signal ?? new AbortController().signal,
    });
  } catch (cause) {
    error = cause as Error;
  }
  return { metrics, error, progress, printed, characters, outputs: outputs!, folder };
}

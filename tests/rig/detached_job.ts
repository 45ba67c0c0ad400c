/**
 * A Slurm job without Slurm: queued by a run that then ends, and begun whenever a test says so.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import { join } from "node:path";
import type { JobEnding } from "../../pipeline/run/executor/slurm/batches.ts";
import type { TestProject } from "./project.ts";

/** Programs under the names of Slurm's, which take jobs and never run one. */
const PROGRAMS = {
  sbatch: `for script; do :; done
echo "1|0|PENDING|None||$(sed -n 's/^#SBATCH --comment=//p' "$script")" >> "$(dirname "$0")/jobs"
echo 1`,
  squeue: `cat "$(dirname "$0")/jobs" 2>/dev/null || :`,
  scontrol: "echo 'MaxArraySize = 1001'",
} as const;

/** See the module's comment. */
export interface DetachedJob {
  /** Its order, as text. */
  readonly order: string;
  /** A file of its folder. */
  path(name: string): string;
  start(): Deno.ChildProcess;
  /** How it ended, as it says itself; `undefined` if it does not. */
  ending(): JobEnding | undefined;
}

/** Queues one instance, whose upstream instances are there, as a job that nobody waits for. */
export async function detachedJob(
  project: TestProject,
  instance: string,
  ...args: string[]
): Promise<DetachedJob> {
  const programs = project.path("programs");
  for (const [name, text] of Object.entries(PROGRAMS)) {
    project.write(`programs/${name}`, `#!/bin/sh\n${text}\n`);
    Deno.chmodSync(join(programs, name), 0o755);
  }
  const run = project.start(
    ["reproduce", "--executor", "slurm", "--json", "--only", instance, ...args],
    { PATH: `${programs}:${Deno.env.get("PATH")}` },
  );
  let hasEnded = false;
  const ended = run.output().finally(() => hasEnded = true);
  while (!hasEnded && !isFile(join(programs, "jobs"))) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  if (!hasEnded) run.kill("SIGINT");
  const { code, stdout, stderr } = await ended;
  assertEquals(code, 130, new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr));
  const [batch, ...others] = [...Deno.readDirSync(project.path("outputs/store/slurm"))];
  assert(batch && others.length === 0);
  const path = (name: string) => project.path(`outputs/store/slurm/${batch.name}/${name}`);
  return {
    order: Deno.readTextFileSync(path("0.json")),
    path,
    start: () =>
      new Deno.Command("bash", {
        args: [path("script.sh")],
        env: { SLURM_ARRAY_TASK_ID: "0" },
        stdin: "null",
        stdout: "piped",
        stderr: "piped",
      }).spawn(),
    ending: () =>
      isFile(path("0.ended.json"))
        ? JSON.parse(Deno.readTextFileSync(path("0.ended.json")))
        : undefined,
  };
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

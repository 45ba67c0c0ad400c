/**
 * The batch script of an array of jobs that are alike.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError } from "../../../errors.ts";
import { type JobNeeds, optionsFor } from "./settings.ts";

const JOB = fileURLToPath(new URL("./job.ts", import.meta.url));

/** What begins the comment of all jobs of this program. */
export const COMMENT = "lockstep:";

/** An array of jobs. */
export interface JobArray {
  /** Names the array, among all of its store. */
  readonly batch: string;
  /** The folder of its orders, in the store of that root. */
  readonly folder: string;
  readonly root: string;
  /** The stage's name in the experiment. */
  readonly stage: string;
  readonly count: number;
  readonly needs: JobNeeds;
}

/**
 * Refuses a store whose path a script's options cannot name: sbatch takes no quote, backslash or control
 * character in them.
 *
 * @throws {ConfigError}
 */
export function requireNameable(root: string): void {
  const [found] = /["\\\p{Cc}]/u.exec(root) ?? [];
  if (found === undefined) return;
  throw new ConfigError(
    `Cannot use Slurm for the store at ${
      JSON.stringify(root)
    }: its path must have no quotation mark, ` +
      `backslash or control character, which sbatch cannot be given, and has ${
        JSON.stringify(found)
      }; ` +
      "give another place with --outputs, or --executor local",
  );
}

/** The script, which any of its jobs runs. */
export function scriptOf({ batch, folder, root, stage, count, needs }: JobArray): string {
  const { modules = [], max_running: max } = needs.settings;
  const options = [
    `--job-name=${stage}`,
    `--comment=${COMMENT}${batch}`,
    `--array=0-${count - 1}${max === undefined ? "" : `%${max}`}`,
    // Slurm replaces what follows a %, and takes a quoted value.
    `--output="${join(folder.replaceAll("%", "%%"), "%a.txt")}"`,
    "--open-mode=append",
    "--requeue",
    "--nodes=1",
    "--ntasks=1",
    ...optionsFor(needs),
  ];
  return [
    // A login shell has the command that loads modules.
    `#!/bin/bash${modules.length > 0 ? " -l" : ""}`,
    ...options.map((option) => `#SBATCH ${option}`),
    ...modules.map((name) => `module load ${quoted(name)} || exit 1`),
    // In the shell's place: it is this program that Slurm asks to end.
    `exec ${
      [Deno.execPath(), "run", "-A", "--quiet", "--cached-only", "--frozen", JOB, root, batch].map(
        quoted,
      ).join(" ")
    } "$SLURM_ARRAY_TASK_ID"`,
    "",
  ].join("\n");
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

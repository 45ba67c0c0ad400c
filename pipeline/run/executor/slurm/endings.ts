/**
 * What it means that a job ended without a word: Slurm's states in the engine's terms.
 *
 * @module
 */
import type { SlurmJob } from "./programs.ts";

/** How Slurm, the shell or the kernel reports that a job had no more memory. */
const OUT_OF_MEMORY = /exceeded .*memory limit|oom[-_ ]?kill|out of memory|cannot allocate memory/i;

/**
 * Why a job's stage did not finish. The same for all jobs that ended alike.
 *
 * @param o.printed What Slurm and the shell printed of the job.
 */
export function whyEnded(
  { state, reason }: Pick<SlurmJob, "state" | "reason">,
  { stage, printed, checkpoints }: {
    readonly stage: string;
    readonly printed: string;
    readonly checkpoints: boolean;
  },
): string {
  const again = checkpoints
    ? "run again, and it goes on from its last checkpoint"
    : "run again, and it starts from the beginning";
  const [what, todo] = describe(OUT_OF_MEMORY.test(printed) ? "OUT_OF_MEMORY" : state, reason);
  return `Stage "${stage}" did not finish: its Slurm job ${what}; ${
    todo === "" ? "" : `${todo}, and `
  }${again}`;
}

function describe(state: string, reason: string): readonly [what: string, todo: string] {
  switch (state) {
    case "TIMEOUT":
      return ["ran longer than its time limit", "give the stage's resources more time"];
    case "OUT_OF_MEMORY":
      return ["took more memory than it may", "give the stage's resources more memory"];
    case "CANCELLED":
      return ["was cancelled, by scancel or an administrator", ""];
    case "PREEMPTED":
      return ["had to make room for another one, and was not queued again", ""];
    case "NODE_FAIL":
    case "BOOT_FAIL":
      return ["lost its node, and was not queued again", ""];
    case "DEADLINE":
      return ["did not begin in time for its deadline", "change --deadline in slurm.options"];
    default:
      return [
        reason === "NonZeroExitCode"
          ? "ended before the stage could begin, which its output below may explain"
          : "was killed, which is what running out of memory can look like too",
        "",
      ];
  }
}

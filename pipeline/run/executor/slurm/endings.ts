/**
 * What it means that a job ended without a word, or waits: Slurm's words in the engine's terms.
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

/** Why jobs wait that will begin. */
const USUAL = new Set([
  ...["", "None", "Priority", "Resources", "BeginTime", "Dependency"],
  // slurm.max_running asks for it.
  "JobArrayTaskLimit",
]);

/** Why jobs never begin. */
const NEVER = new Set(["PartitionTimeLimit", "BadConstraints", "DependencyNeverSatisfied"]);

/** What it means that a job waits: as is `usual`, as should be `seen`, or that it will `never` begin. */
export function whatWaitingMeans({ reason }: Pick<SlurmJob, "reason">): "usual" | "seen" | "never" {
  return NEVER.has(reason) ? "never" : USUAL.has(reason) ? "usual" : "seen";
}

/** Why a job never begins, as a failure of its stage. */
export function whyNever({ reason }: Pick<SlurmJob, "reason">, stage: string): string {
  return `Stage "${stage}" cannot begin: Slurm must be able to start its job, and never will, ` +
    `${reason}; change resources or slurm in the experiment's file`;
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

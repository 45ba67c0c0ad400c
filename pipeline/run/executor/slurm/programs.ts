/**
 * Slurm's own programs: what they are asked, and what their answers mean.
 *
 * @module
 */
import { ConfigError, LockstepError } from "../../../errors.ts";
import { COMMENT } from "./script.ts";

/** What Slurm knows of one job. */
export interface SlurmJob {
  /** `17_3`. */
  readonly id: string;
  /** `PENDING`. */
  readonly state: string;
  /** Why it is in that state, in Slurm's word. */
  readonly reason: string;
  readonly node: string;
}

/** The jobs of a user. */
export interface Jobs {
  /** Those that are this program's: by batch and index. */
  readonly own: ReadonlyMap<string, ReadonlyMap<number, SlurmJob>>;
  /** The name and the comment of those that are not, by id. */
  readonly others: ReadonlyMap<string, { readonly name: string; readonly comment: string }>;
}

/** Slurm's controller does not answer, or not in time: what was asked may have been done even so. */
export class NoAnswer extends LockstepError {
  /** Whether Slurm's programs are not configured here: asking again is of no use. */
  readonly isUnconfigured: boolean;

  constructor(message: string, { isUnconfigured }: { readonly isUnconfigured: boolean }) {
    super(message);
    this.isUnconfigured = isUnconfigured;
  }
}

const UNCONFIGURED = /\bfatal\b|configuration source|cannot stat file/i;

const SILENCE = new RegExp(
  "unable to contact|connect(ion)? (failure|refused)|timed out|temporarily unable|send/recv|" +
    "zero bytes|communication|transport endpoint|authentication",
  "i",
);

/** Submits a script; returns the id of its array. */
export async function submit(script: string): Promise<string> {
  const text = await ask("sbatch", ["--parsable", script]);
  return text.trim().split(";")[0]!;
}

/**
 * All jobs, also those that ended a while ago, in one call.
 *
 * @throws {NoAnswer} Whatever keeps Slurm from saying: jobs go on even so.
 */
export async function listJobs(): Promise<Jobs> {
  const text = await ask("squeue", [
    ...["--me", "--array", "--noheader", "--states=all"],
    "--format=%F|%K|%T|%r|%N|%j|%k",
  ]);
  const jobs = new Map<string, Map<number, SlurmJob>>();
  const others = new Map<string, { name: string; comment: string }>();
  for (const line of text.split("\n")) {
    const [array, index, state, reason, node, name, comment] = line.split("|");
    if (comment === undefined || !/^\d+$/.test(index!)) continue;
    if (!comment.startsWith(COMMENT)) {
      others.set(`${array}_${index}`, { name: name!, comment: comment.trim() });
      continue;
    }
    const batch = comment.slice(COMMENT.length).trim();
    if (!jobs.has(batch)) jobs.set(batch, new Map());
    const job = { id: `${array}_${index}`, state: state!, reason: reason!, node: node! };
    const known = jobs.get(batch)!.get(Number(index));
    // A batch that was submitted twice, since nobody knew of the first: the one that goes on counts.
    if (known === undefined || isOver(known)) jobs.get(batch)!.set(Number(index), job);
  }
  return { own: jobs, others };
}

/** Cancels jobs. */
export async function cancel(ids: readonly string[]): Promise<void> {
  await ask("scancel", [...ids]);
}

/** The largest array that may be submitted. */
export async function maxArraySize(): Promise<number> {
  const [, size] = /^MaxArraySize\s*=\s*(\d+)/m.exec(await ask("scontrol", ["show", "config"])) ??
    [];
  return Math.max(1, Number(size ?? 1) - 1);
}

/**
 * Refuses a machine on which Slurm cannot be used. A controller that does not answer may do so later.
 *
 * @throws {ConfigError} If its programs are not here, or are not configured.
 */
export async function requireSlurm(): Promise<void> {
  try {
    await listJobs();
    await maxArraySize();
  } catch (error) {
    if (!(error instanceof NoAnswer)) throw error;
    if (!error.isUnconfigured) return;
    throw new ConfigError(
      `Cannot use Slurm: its programs must be configured here, and ${error.message}; run where squeue ` +
        "lists jobs, set SLURM_CONF, or give --executor local",
      { cause: error },
    );
  }
}

const OVER = new Set([
  ...["BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY"],
  ...["PREEMPTED", "REVOKED", "TIMEOUT"],
]);

/** Whether a job does not run again. */
export function isOver({ state }: SlurmJob): boolean {
  return OVER.has(state);
}

/**
 * The environment of Slurm's programs. What a job says to programs that run in it is not for the jobs
 * of a run in a job, and defaults for sbatch would count for more than a script's own options.
 */
function environment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) =>
      name === "SLURM_CONF" || !/^(SLURM|SBATCH|SQUEUE|SCANCEL)_/.test(name)
    ),
  );
}

async function ask(program: string, args: readonly string[]): Promise<string> {
  let ended: Deno.CommandOutput;
  try {
    ended = await new Deno.Command(program, {
      args: [...args],
      env: environment(),
      clearEnv: true,
      stdin: "null",
      // Ctrl-C is for the engine to answer.
      detached: true,
    }).output();
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    throw new ConfigError(
      `Cannot use Slurm: its program "${program}" must be installed here, and is not; run where it is, ` +
        "or give --executor local",
      { cause },
    );
  }
  const [text, errors] = [ended.stdout, ended.stderr].map((bytes) =>
    new TextDecoder().decode(bytes)
  );
  if (ended.success) return text!;
  const message = `${program} says "${wordsOf(errors!)}"`;
  const isRefusal = program === "sbatch" && !SILENCE.test(errors!);
  if (isRefusal) throw new LockstepError(message);
  throw new NoAnswer(message, { isUnconfigured: UNCONFIGURED.test(errors!) });
}

/** What a program printed of its failure, on one line: without its name, and how to ask for help. */
function wordsOf(errors: string): string {
  return errors.split("\n").map((line) => line.trim().replace(/^\w+: /, ""))
    .map((line) => line.replace(/^(error|fatal): /, ""))
    .filter((line) => line !== "" && !line.startsWith("Try ")).join("; ");
}

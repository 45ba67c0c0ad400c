/**
 * How an instance that somebody waits for comes to have a job: one that an earlier run submitted, or a new
 * one.
 *
 * @module
 */
import type { Listener } from "../../../event.ts";
import type { Sha256 } from "../../../key/hash.ts";
import type { Instance } from "../../../plan/graph.ts";
import type { QueueEnding, QueueOrder, QueueWatch } from "../../queue.ts";
import type { Batches, JobPlace } from "./batches.ts";
import { type RunFacts, toJobOrder } from "./order.ts";
import { isOver, type Jobs, NoAnswer, type SlurmJob, submit } from "./programs.ts";
import { scriptOf } from "./script.ts";
import type { JobNeeds } from "./settings.ts";

/** How long it is kept that a job failed which nobody waits for: other runs may. */
const KEPT_MS = 7 * 24 * 3600 * 1000;

/** Somebody who waits for an instance. */
export interface Waiting {
  readonly order: QueueOrder;
  readonly watch: QueueWatch;
  readonly resolve: (ending: QueueEnding | Promise<QueueEnding>) => void;
  readonly reject: (error: unknown) => void;
  /** Once it is submitted. */
  place?: JobPlace;
  /** As Slurm knew it last. */
  job?: SlurmJob;
  /** Since when it has ended, or is gone, without a word. */
  quiet?: { readonly since: number; looks: number };
  losses: number;
}

/**
 * Takes note of jobs whose instances were made while nobody waited, and of failures that nobody asked
 * about for long.
 *
 * @returns The keys that these jobs made, and that had no unlike result before.
 */
export function takeNoteOfMade(
  batches: Batches,
  isWanted: (key: Sha256) => boolean = () => false,
): Sha256[] {
  const made: Sha256[] = [];
  for (const { batch, keys } of batches.all()) {
    const ended = batches.ended(batch);
    for (const [index, key] of keys.entries()) {
      const place = { batch, index };
      if (!ended.has(index) || isWanted(key) || !batches.isOpen(place)) continue;
      if (batches.isAwaited(place)) continue;
      const ending = batches.ending(place);
      if (ending === undefined || ending.ended === "failed") continue;
      if (ending.ended === "made" && ending.unlike.length === 0) made.push(key);
      batches.forget(place);
    }
  }
  return made;
}

/**
 * Gives those who wait the jobs that earlier runs submitted for them, and takes note of jobs that nobody
 * asked about for long.
 */
export function attach(
  open: readonly Waiting[],
  { jobs, batches }: { readonly jobs: Jobs; readonly batches: Batches },
): void {
  const wanted = new Map(open.map((waiting) => [waiting.order.key, waiting]));
  for (const { batch, keys } of batches.all()) {
    const ended = batches.ended(batch);
    for (const [index, key] of keys.entries()) {
      const place = { batch, index };
      const waiting = wanted.get(key);
      if (!batches.isOpen(place)) continue;
      const job = jobs.own.get(batch)?.get(index);
      if (waiting === undefined) {
        const goesOn = job !== undefined && !isOver(job);
        if (!goesOn && batches.age(batch) > KEPT_MS) batches.forget(place);
        continue;
      }
      if (waiting.place !== undefined || !job && !ended.has(index)) continue;
      // What finds a result is not what was asked for.
      if (waiting.order.forced && !batches.isForced(place)) continue;
      batches.wait(place);
      waiting.place = place;
      if (job) waiting.job = job;
      if (job && !isOver(job)) waiting.watch.waiting(`Slurm job ${job.id}`);
    }
  }
}

/** What is needed to submit. */
export interface SubmissionOptions {
  readonly batches: Batches;
  readonly facts: RunFacts;
  readonly needsOf: (instance: Instance) => JobNeeds;
  readonly maxArray: number;
  readonly listener: Listener;
  /** Called for each whose job Slurm does not take. */
  readonly refused: (waiting: Waiting, message: string) => void;
}

/**
 * Submits jobs: those of a stage that need the same as one array.
 *
 * @throws {NoAnswer} If Slurm does not say whether it took them.
 */
export async function submitAll(
  all: readonly Waiting[],
  options: SubmissionOptions,
): Promise<void> {
  const { needsOf, maxArray } = options;
  const alike = Map.groupBy(
    all,
    ({ order: { instance } }) => JSON.stringify([instance.node.name, needsOf(instance)]),
  );
  for (const group of alike.values()) {
    for (let start = 0; start < group.length; start += maxArray) {
      await submitArray(group.slice(start, start + maxArray), options);
    }
  }
}

async function submitArray(
  group: readonly Waiting[],
  { batches, facts, needsOf, listener, refused }: SubmissionOptions,
): Promise<void> {
  const { instance } = group[0]!.order;
  const batch = crypto.randomUUID();
  const script = scriptOf({
    ...{ batch, folder: batches.folder(batch), root: batches.root },
    ...{ stage: instance.node.name, count: group.length, needs: needsOf(instance) },
  });
  const path = batches.write(batch, group.map(({ order }) => toJobOrder(order, facts)), script);
  // From here on they may be queued, whatever is heard of it.
  group.forEach((waiting, index) => batches.wait(waiting.place = { batch, index }));
  try {
    const id = await submit(path);
    group.forEach((waiting, index) => {
      waiting.job = { id: `${id}_${index}`, state: "PENDING", reason: "", node: "" };
    });
    const what = group.length === 1 ? instance.name : `${group.length} of ${instance.node.name}`;
    listener({ event: "note", message: `Slurm job ${id}: ${what}` });
  } catch (error) {
    if (error instanceof NoAnswer) throw error;
    const found = error instanceof Error ? error.message : String(error);
    const message =
      `Cannot queue stage "${instance.node.stage.name}": Slurm must take its jobs, and ` +
      `${found}; look at resources and slurm in the experiment's file`;
    for (const waiting of group) refused(waiting, message);
  }
}

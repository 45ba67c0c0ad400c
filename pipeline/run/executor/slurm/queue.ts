/**
 * Instances as jobs of Slurm. What is ready is submitted, alike instances as one array; the store says
 * when a job has ended, and Slurm, asked about all jobs at once and ever less often, why one ended that
 * left no word there.
 *
 * Jobs are known by what their comment says, the name of a batch in the store, and by their index: never
 * by Slurm's number, which a controller that was started again may give to another. What is not in the
 * store is not done: a job that Slurm lost is submitted again, and one that Slurm runs twice finds its
 * result. So whoever waits may go, and the next run waits for the same jobs.
 *
 * Nothing is submitted that waits for another job (`afterok`): an instance's key is made of what its
 * inputs contain, and so is not known before these are there.
 *
 * @module
 */
import type { Listener } from "../../../event.ts";
import { LockstepError } from "../../../errors.ts";
import type { Sha256 } from "../../../key/hash.ts";
import type { Instance } from "../../../plan/graph.ts";
import type { ArtifactStore } from "../../../store/artifact_store.ts";
import { isHeld, tryLock } from "../../../store/mutex.ts";
import { locksFolder, type Workspace } from "../../../store/workspace.ts";
import { readLog, Tail } from "../../logs.ts";
import {
  type Queue,
  type QueueEnding,
  QueueFailure,
  type QueueOrder,
  type QueueWatch,
} from "../../queue.ts";
import { Batches, type JobEnding } from "./batches.ts";
import { whatWaitingMeans, whyEnded, whyNever } from "./endings.ts";
import type { RunFacts } from "./order.ts";
import {
  cancel,
  isOver,
  type Jobs,
  listJobs,
  maxArraySize,
  NoAnswer,
  type SlurmJob,
} from "./programs.ts";
import { COMMENT } from "./script.ts";
import type { JobNeeds } from "./settings.ts";
import { attach, submitAll, takeNoteOfMade, type Waiting } from "./submission.ts";

/** How often the store is looked at for jobs that ended. */
const STORE_MS = 500;
/** What is ready together is submitted together: so long nothing else may become ready. */
const GATHER_MS = 400;
/** How long after a look at Slurm the next one comes, at first and at most. */
const LOOK_MS = { first: 1500, max: 30_000, factor: 1.5 };
/** A job that ended, and left no word yet, is given time: a network's file systems show files late. */
const QUIET = { looks: 2, ms: 4000 };
/** A job that Slurm knows nothing of is submitted again so often. */
const MAX_LOSSES = 3;
const SHOWN_LINES = 20;

/** What a queue needs. */
export interface SlurmQueueOptions {
  readonly store: ArtifactStore;
  readonly workspace: Workspace;
  readonly facts: RunFacts;
  readonly needsOf: (instance: Instance) => JobNeeds;
  /** Called with each key that a job made, unless an earlier result is unlike it. */
  readonly onMade: (key: Sha256) => Promise<void>;
  readonly listener: Listener;
}

/** See the module's comment. */
export class SlurmQueue implements Queue {
  readonly #options: SlurmQueueOptions;
  readonly #batches: Batches;
  readonly #waiting = new Map<Sha256, Waiting>();
  readonly #ended = new Map<Sha256, Promise<QueueEnding>>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #addedAt = 0;
  #lookAt = 0;
  #pauseMs = LOOK_MS.first;
  #talking: Promise<void> | undefined;
  #isSilent = false;
  /** Those who wait no more, since the run cannot go on: their jobs do. */
  readonly #abandoned = new Set<Waiting>();
  /** What was said of arrays that wait. */
  readonly #saidWaits = new Set<string>();
  #maxArray: number | undefined;

  constructor(options: SlurmQueueOptions) {
    this.#options = options;
    this.#batches = new Batches(options.workspace);
  }

  /** Takes note of what jobs made while no run waited: it is in the store, and a run asks for it there. */
  async open(): Promise<void> {
    await this.#batches.enter();
    for (const key of takeNoteOfMade(this.#batches)) await this.#options.onMade(key);
  }

  /** Waits for no job any more. */
  close(): void {
    this.#batches.leave();
  }

  make(order: QueueOrder, watch: QueueWatch, signal: AbortSignal): Promise<QueueEnding> {
    const { key } = order;
    const before = this.#ended.get(key);
    // Two instances of a run may have one key: the second takes what the first makes.
    if (before) {
      return before.then((ending) => ending.ended === "made" ? { ended: "found" } : ending);
    }
    const { promise, resolve, reject } = Promise.withResolvers<QueueEnding>();
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    this.#waiting.set(key, { order, watch, resolve, reject, losses: 0 });
    this.#addedAt = performance.now();
    this.#timer ??= setInterval(() => this.#turn(), STORE_MS);
    const ended = promise.finally(() => {
      signal.removeEventListener("abort", stop);
      if (signal.aborted) return this.#pause();
      this.#waiting.delete(key);
      this.#ended.delete(key);
      if (this.#waiting.size === 0) this.#pause();
    });
    this.#ended.set(key, ended);
    return ended;
  }

  /** The jobs that go on and nobody waits for any more. */
  async left(): Promise<readonly SlurmJob[]> {
    // What is being submitted is left too.
    await this.#talking;
    return this.#unawaited().flatMap(({ job }) => job && !isOver(job) ? [job] : []);
  }

  /** Those that have a job for which no other run waits. */
  #unawaited(): Waiting[] {
    const all = new Set([...this.#waiting.values(), ...this.#abandoned]);
    return [...all].filter(({ place }) => place && !this.#batches.isAwaited(place));
  }

  /** Cancels the jobs that are left. */
  async cancel(): Promise<void> {
    const jobs = await listJobs();
    const left = this.#unawaited();
    const own = Map.groupBy(left, ({ place }) => place!.batch);
    const ids = [...own].flatMap(([batch, all]) => {
      const open = [...jobs.own.get(batch) ?? []].filter(([, job]) => !isOver(job));
      const ours = open.filter(([index]) => all.some(({ place }) => place!.index === index));
      // A whole array by its one number.
      return ours.length === open.length
        ? open.slice(0, 1).map(([, { id }]) => id.split("_")[0]!)
        : ours.map(([, { id }]) => id);
    });
    if (ids.length > 0) await cancel(ids);
    for (const { place } of left) this.#batches.forget(place!);
  }

  #pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #turn(): void {
    try {
      this.#takeEndings();
    } catch (error) {
      this.#failAll(error);
    }
    if (this.#talking || this.#waiting.size === 0) return;
    const now = performance.now();
    const isSubmitting = now - this.#addedAt >= GATHER_MS && this.#unsubmitted().length > 0;
    if (now < this.#lookAt && (this.#isSilent || !isSubmitting)) return;
    this.#talking = this.#talk(isSubmitting).catch((error) => {
      if (error instanceof NoAnswer) this.#noteSilence(error);
      else this.#failAll(error);
    }).finally(() => this.#talking = undefined);
  }

  #failAll(error: unknown): void {
    for (const waiting of this.#waiting.values()) {
      waiting.reject(error);
      this.#abandoned.add(waiting);
    }
  }

  #noteSilence({ message }: NoAnswer): void {
    if (!this.#isSilent) {
      this.#note(`Slurm does not answer: ${message}; jobs go on meanwhile, and it is asked again`);
    }
    this.#isSilent = true;
    this.#lookAgain({ soon: false });
  }

  #lookAgain({ soon }: { readonly soon: boolean }): void {
    this.#pauseMs = soon ? LOOK_MS.first : Math.min(this.#pauseMs * LOOK_MS.factor, LOOK_MS.max);
    this.#lookAt = performance.now() + this.#pauseMs;
  }

  #unsubmitted(): Waiting[] {
    return [...this.#waiting.values()].filter(({ place }) => place === undefined);
  }

  /** Takes note of the jobs that say themselves how they ended. */
  #takeEndings(): void {
    const batches = Map.groupBy(this.#waiting.values(), ({ place }) => place?.batch);
    for (const [batch, all] of batches) {
      if (batch === undefined) continue;
      const ended = this.#batches.ended(batch);
      for (const waiting of all) {
        if (!ended.has(waiting.place!.index)) continue;
        const ending = this.#batches.ending(waiting.place!);
        if (ending) this.#settle(waiting, ending);
      }
    }
  }

  #settle(waiting: Waiting, ending: JobEnding): void {
    const { order, watch, resolve, place } = waiting;
    if (ending.ended === "made") {
      watch.started();
      // What is unlike an earlier result is for no one else.
      const noted = ending.unlike.length > 0 ? Promise.resolve() : this.#options.onMade(order.key);
      resolve(noted.then(() => ending));
    } else if (ending.ended !== "failed") resolve(ending);
    else this.#fail(waiting, ending.message);
    this.#waiting.delete(order.key);
    if (place) this.#batches.forget(place);
  }

  #fail({ order: { key }, place, job, reject }: Waiting, message: string): void {
    const tail = new Tail(SHOWN_LINES);
    if (job) tail.take(`Slurm job ${job.id}${job.node === "" ? "" : ` on ${job.node}`}\n`);
    tail.take(readLog(this.#batches.root, key) ?? "");
    if (place) tail.take(this.#batches.printed(place));
    reject(new QueueFailure(message, { key, output: tail.lines() }));
  }

  /** One talk with Slurm: how all jobs are and, if there are such, new ones. */
  async #talk(isSubmitting: boolean): Promise<void> {
    if (!isSubmitting) {
      await this.#look(await listJobs());
      return this.#lookAgain({ soon: this.#isAnyQuiet() });
    }
    // Two runs on one store must not both find that an instance is not queued.
    const lock = await tryLock(locksFolder(this.#options.workspace), "slurm");
    if (!isHeld(lock)) return;
    try {
      const jobs = await listJobs();
      await this.#look(jobs);
      const made = takeNoteOfMade(this.#batches, (key) => this.#waiting.has(key));
      for (const key of made) await this.#options.onMade(key);
      attach(this.#unsubmitted(), { jobs, batches: this.#batches });
      await this.#submit(this.#unsubmitted());
      this.#lookAgain({ soon: true });
    } finally {
      lock.release();
    }
  }

  #isAnyQuiet(): boolean {
    return [...this.#waiting.values()].some(({ quiet }) => quiet !== undefined);
  }

  /** Takes note of what Slurm knows of the jobs. */
  async #look(jobs: Jobs): Promise<void> {
    this.#isSilent = false;
    const hopeless: string[] = [];
    for (const waiting of [...this.#waiting.values()]) {
      const { place, job: before, order, watch } = waiting;
      if (place === undefined) continue;
      const job = jobs.own.get(place.batch)?.get(place.index);
      if (job) waiting.job = job;
      else if (this.#isRenamed(waiting, jobs)) {
        hopeless.push(before!.id);
        continue;
      }
      if (job === undefined || isOver(job)) {
        this.#missed(waiting, job).catch(waiting.reject);
        continue;
      }
      delete waiting.quiet;
      if (job.state === "RUNNING") {
        watch.started();
        const progress = this.#batches.progress(place);
        if (progress) watch.progress(progress);
      } else if (before?.state === "RUNNING" && job.state === "PENDING") {
        this.#note(`Slurm has queued ${order.instance.name} again (job ${job.id}, ${job.reason})`);
      }
      if (job.state === "PENDING" && this.#isHopeless(waiting, job)) hopeless.push(job.id);
    }
    await this.#cancelHopeless(hopeless);
  }

  /** Fails whose job goes on under another comment: it would be taken for lost, and queued again. */
  #isRenamed(waiting: Waiting, { others }: Jobs): boolean {
    const { order: { instance }, job, place } = waiting;
    const other = job && others.get(job.id);
    // A controller that lost its state may give the number to any job of this user.
    if (other?.name !== instance.node.name || this.#batches.ending(place!)) return false;
    const message =
      `Cannot make ${instance.name}: a Slurm job is known by its comment, ${COMMENT}${
        place!.batch
      }, ` +
      `and that of job ${
        job!.id
      } is "${other.comment}": its comment was changed by slurm.options, ` +
      "scontrol or the cluster's submit plugin; leave it as it is";
    this.#settle(waiting, { ended: "failed", message });
    return true;
  }

  /** Fails whose job will never begin, and says why one waits that perhaps will not. */
  #isHopeless(waiting: Waiting, job: SlurmJob): boolean {
    const means = whatWaitingMeans(job);
    if (means === "never") {
      const message = whyNever(job, waiting.order.instance.node.stage.name);
      this.#settle(waiting, { ended: "failed", message });
      return true;
    }
    const said = `Slurm job ${job.id.split("_")[0]} waits: ${job.reason}`;
    if (means === "seen" && !this.#saidWaits.has(said)) {
      this.#saidWaits.add(said);
      this.#note(said);
    }
    return false;
  }

  /** Cancels jobs whose failure was reported already. */
  async #cancelHopeless(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    try {
      await cancel(ids);
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      this.#note(
        `Slurm jobs not cancelled: ${error.message}; scancel ${ids.join(" ")} cancels them`,
      );
    }
  }

  #note(message: string): void {
    this.#options.listener({ event: "note", message });
  }

  /** A job that ended, or is gone, and has not said how. */
  async #missed(waiting: Waiting, job: SlurmJob | undefined): Promise<void> {
    const now = performance.now();
    const quiet = waiting.quiet ??= { since: now, looks: 0 };
    quiet.looks++;
    if (quiet.looks < QUIET.looks || now - quiet.since < QUIET.ms) return;
    const { order: { key, forced, instance }, place } = waiting;
    // It may have ended since.
    this.#batches.refresh(place!.batch);
    const ending = this.#batches.ending(place!);
    if (ending) return this.#settle(waiting, ending);
    if (!forced && await this.#options.store.trace(key)) {
      return this.#settle(waiting, { ended: "found" });
    }
    if (job !== undefined && job.state !== "COMPLETED") {
      const { name, checkpoints = false } = instance.node.stage;
      const printed = this.#batches.printed(place!);
      const message = whyEnded(job, { stage: name, printed, checkpoints });
      return this.#settle(waiting, { ended: "failed", message });
    }
    this.#batches.forget(place!);
    delete waiting.place;
    delete waiting.quiet;
    if (++waiting.losses <= MAX_LOSSES) return;
    throw new LockstepError(
      `Cannot make ${instance.name}: Slurm lost its job ${waiting.losses} times, without a result or a ` +
        "word of why; ask whoever runs the cluster",
    );
  }

  async #submit(all: readonly Waiting[]): Promise<void> {
    if (all.length === 0) return;
    this.#maxArray ??= await maxArraySize();
    await submitAll(all, {
      ...this.#options,
      batches: this.#batches,
      maxArray: this.#maxArray,
      refused: (waiting, message) => this.#settle(waiting, { ended: "failed", message }),
    });
  }
}

/**
 * Carries a plan out: runs what must run, in parallel, and goes on past a failure with everything
 * that does not depend on it.
 *
 * @module
 */
import type { Bundle } from "../key/bundle_format.ts";
import type { Locate } from "../config/document.ts";
import { explain, LockstepError } from "../errors.ts";
import type { Listener } from "../event.ts";
import type { Executor } from "./executor.ts";
import { damagedInputs } from "./instance.ts";
import { type Kept, makeAndKeep, type RecordedOrder } from "./keep.ts";
import { Log } from "./logs.ts";
import { type Graph, type Instance, upstream } from "../plan/graph.ts";
import type { Sha256 } from "../key/hash.ts";
import { isHeld, type Owner, tryLock } from "../store/mutex.ts";
import { decide, type Decision, outputsOf, type PlanInput } from "../plan/plan.ts";
import type { Platform } from "../key/platform.ts";
import { openScratch, type Scratch } from "./scratch.ts";
import { needsOf, requireRoom, type Share } from "./share.ts";
import { Slots } from "./slots.ts";
import { type Queue, QueueFailure } from "./queue.ts";
import { Queued } from "./queued.ts";
import type { ArtifactStore } from "../store/artifact_store.ts";
import { withinTime } from "./time_limit.ts";
import type { Claims } from "../store/claims.ts";
import { type Pins, PINS_FILE } from "../store/pins.ts";
import type { Trace } from "../store/trace.ts";
import { locksFolder, type Workspace } from "../store/workspace.ts";

/** What a run needs besides its plan. */
export interface RunOptions {
  /** `fusion.smoke`. */
  readonly name: string;
  readonly store: ArtifactStore;
  readonly workspace: Workspace;
  /** What it counts on, and what it makes. */
  readonly claims: Claims;
  readonly executor: Executor;
  /** Where an instance is queued that is not made here. */
  readonly queueOf?: (instance: Instance) => Queue | undefined;
  readonly bundles: ReadonlyMap<string, Bundle>;
  readonly platform: Platform;
  readonly planInput: PlanInput;
  readonly jobs: number;
  readonly mirror: string | undefined;
  readonly pins: Pins;
  readonly secondsOf: (instance: Instance) => number | undefined;
  readonly locate: Locate;
  readonly listener: Listener;
  /** Whether the first failure ends what runs, and nothing new starts. */
  readonly failFast: boolean;
  readonly signal: AbortSignal;
}

/** What a finished instance left. */
export interface Result {
  readonly key: Sha256;
  readonly outputs: Trace["outputs"];
}

/** How a run ended. */
export interface RunOutcome {
  readonly results: ReadonlyMap<Instance, Result>;
  readonly executed: number;
  readonly cached: number;
  readonly failed: number;
  /** Of those that ran: how many had a result before, with other bits. */
  readonly unlike: number;
}

/** The outputs of the instances an instance takes its inputs from. */
type Upstream = (from: Instance) => Trace["outputs"];
/** What an instance that is about to run is given. */
interface Given {
  readonly upstream: Upstream;
  readonly share: Share;
}
/** What is to be made, and why. */
type Running = Extract<Decision, { action: "run" }>;
type Ending = { readonly result: Result } | { readonly failed: string };

/** Runs all instances of a graph for which the plan does not hold a result already. */
export async function run(
  graph: Graph,
  decisions: ReadonlyMap<Instance, Decision>,
  options: RunOptions,
): Promise<RunOutcome> {
  const { listener } = options;
  const results = new Map<Instance, Result>();
  let cached = 0;
  const pending: Instance[] = [];
  for (const instance of graph) {
    const decision = decisions.get(instance);
    if (decision?.action === "cached") {
      results.set(instance, decision);
      cached++;
      listener({ event: "cached", instance: instance.name, key: decision.key });
    } else pending.push(instance);
  }
  if (pending.length === 0) return { results, executed: 0, cached, failed: 0, unlike: 0 };
  const scratch = await openScratch(options.workspace);
  try {
    const runner = new Runner(results, scratch, options);
    const endings = await Promise.all(pending.map((instance) => runner.ending(instance)));
    const failed = endings.filter((ending) => "failed" in ending).length;
    return {
      results,
      executed: runner.made.size,
      cached: graph.length - runner.made.size - failed,
      failed,
      unlike: runner.unlike.size,
    };
  } finally {
    scratch.close();
  }
}

const LOCK_POLL_MS = 50;
/** How often an instance's inputs may turn out damaged before the disk is to blame. */
const MAX_ATTEMPTS = 3;

class Runner {
  readonly #results: Map<Instance, Result>;
  readonly #endings = new Map<Instance, Promise<Ending>>();
  readonly #scratch: Scratch;
  readonly #options: RunOptions;
  readonly #slots: Slots;
  /** What those that run print, and those that failed printed. */
  readonly #logs = new Map<Instance, Log>();
  readonly #queued: Queued;
  /** The first failure, where that ends the run. */
  #fatal: Instance | undefined;
  readonly #failing = new AbortController();
  /** Aborted when the run is to end, for either reason. */
  readonly #signal: AbortSignal;
  /** The instances that ran, some perhaps twice, as when their result was damaged. */
  readonly made = new Set<Instance>();
  /** Those of them that had a result before, with other bits. */
  readonly unlike = new Set<Instance>();

  constructor(results: Map<Instance, Result>, scratch: Scratch, options: RunOptions) {
    this.#results = results;
    this.#scratch = scratch;
    this.#options = options;
    this.#slots = new Slots({ ...options.executor.limits, places: options.jobs });
    this.#signal = AbortSignal.any([options.signal, this.#failing.signal]);
    this.#queued = new Queued(options);
  }

  /** How an instance ends; starts it, and what it needs, if nobody did. */
  ending(instance: Instance): Promise<Ending> {
    const result = this.#results.get(instance);
    if (result) return Promise.resolve({ result });
    let ending = this.#endings.get(instance);
    if (!ending) this.#endings.set(instance, ending = this.#settle(instance));
    return ending;
  }

  async #settle(instance: Instance): Promise<Ending> {
    try {
      for (let attempt = 1;; attempt++) {
        const needed = [...upstream(instance)];
        const endings = await Promise.all(needed.map((from) => this.ending(from)));
        const lost = endings.findIndex((ending) => "failed" in ending);
        if (lost >= 0) return this.#skip(instance, needed[lost]!);
        // Taken now: another instance may find an upstream result damaged and drop it.
        const results = new Map(
          needed.map((from, index) =>
            [from, (endings[index] as { result: Result }).result.outputs] as const
          ),
        );
        const damaged = await this.#attempt(instance, (from) => results.get(from)!);
        if (damaged.size === 0) return { result: this.#results.get(instance)! };
        if (attempt === MAX_ATTEMPTS) {
          throw new LockstepError(
            `Cannot read the inputs of ${instance.name}: what ${
              [...damaged][0]!.name
            } makes was damaged ` +
              `${attempt} times in a row; check the disk`,
          );
        }
        // What an upstream instance made is damaged: it is made again first.
        for (const from of damaged) {
          this.#results.delete(from);
          this.#endings.delete(from);
        }
      }
    } catch (error) {
      return this.#fail(instance, error);
    }
  }

  #skip(instance: Instance, because: Instance): Ending {
    const { listener, signal } = this.#options;
    if (!signal.aborted) {
      listener({ event: "skipped", instance: instance.name, because: because.name });
    }
    return { failed: because.name };
  }

  #fail(instance: Instance, error: unknown): Ending {
    const { listener, signal } = this.#options;
    const failed = { failed: instance.name };
    if (signal.aborted) return failed;
    this.#noteFailure(instance);
    if (this.#fatal !== undefined && this.#fatal !== instance) {
      listener({ event: "stopped", instance: instance.name, because: this.#fatal.name });
      return failed;
    }
    const log = this.#logs.get(instance);
    const message = explain(error);
    const { key, output } = error instanceof QueueFailure
      ? error
      : { key: log?.key ?? null, output: log?.lastLines() ?? [] };
    log?.write(`${message}\n`);
    log?.close();
    listener({ event: "failed", instance: instance.name, key, message, output });
    return failed;
  }

  /** Ends the run at its first failure, where that was asked for. */
  #noteFailure(instance: Instance): void {
    const { signal, failFast } = this.#options;
    if (!failFast || signal.aborted || this.#fatal !== undefined) return;
    this.#fatal = instance;
    this.#failing.abort();
  }

  /** Makes an instance, unless another process did meanwhile; returns damaged upstream, if any. */
  async #attempt(instance: Instance, upstream: Upstream): Promise<Set<Instance>> {
    const { planInput, listener, executor, platform, locate } = this.#options;
    this.#signal.throwIfAborted();
    const decision = await decide(instance, upstream, planInput);
    if (decision.action === "cached") return this.#reuse(instance, decision);
    const queue = this.#options.queueOf?.(instance);
    if (queue) return await this.#queue(queue, instance, { decision, upstream });
    const urgency = this.#options.secondsOf(instance) ?? 0;
    const alone = instance.node.stage.alone ?? false;
    // What seemed up to date when the run was planned may have to be made after all.
    requireRoom([instance], { limits: executor.limits, platform, locate });
    const needs = needsOf(instance, platform);
    for (let reported = false;; reported = true) {
      const ended = await this.#slots.use(
        { urgency, alone, needs, signal: this.#signal },
        (adapters) =>
          this.#underLock(instance, decision, {
            upstream,
            share: { ...needs, adapters },
          }).catch((error) => {
            // While it has its place still: nothing may begin in it.
            this.#noteFailure(instance);
            throw error;
          }),
      );
      if (ended instanceof Set) return ended;
      const owner = `process ${ended.pid}`;
      // Two instances of this run may have one key: then the second takes what the first makes.
      if (!reported && ended.pid !== Deno.pid) {
        listener({ event: "waiting", instance: instance.name, owner });
      }
      await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
    }
  }

  /** Has an instance made elsewhere; returns damaged upstream, if any. */
  async #queue(
    queue: Queue,
    instance: Instance,
    { decision, upstream: outputs }: { readonly decision: Running; readonly upstream: Upstream },
  ): Promise<Set<Instance>> {
    const { key, ingredients, reason } = decision;
    const { platform, mirror, planInput } = this.#options;
    const bundle = this.#options.bundles.get(instance.node.stage.name)!;
    const forced = planInput.forced(instance);
    const ended = await this.#queued.make(
      queue,
      { instance, key, ingredients, bundle, platform, outputs, mirror, forced },
      { reason, signal: this.#signal },
    );
    if (ended instanceof Set) return ended;
    if ("seconds" in ended) this.#take(instance, key, ended);
    else this.#reuse(instance, { key, outputs: ended.outputs });
    return new Set();
  }

  /** Makes an instance if no other process is at it; else returns who is. */
  async #underLock(
    instance: Instance,
    decision: Running,
    given: Given,
  ): Promise<Set<Instance> | Owner> {
    const { planInput, store, workspace, claims } = this.#options;
    this.#signal.throwIfAborted();
    const lock = await tryLock(locksFolder(workspace), decision.key);
    if (!isHeld(lock)) return lock;
    try {
      if (planInput.forced(instance)) await claims.keep(() => claims.claim(decision.key));
      const outputs = planInput.forced(instance)
        ? undefined
        : await outputsOf(instance, decision.key, planInput);
      if (typeof outputs === "object") return this.#reuse(instance, { key: decision.key, outputs });
      const damaged = await damagedInputs(instance, given.upstream, store);
      if (damaged.size === 0) await this.#make(instance, decision, given);
      return damaged;
    } finally {
      lock.release();
    }
  }

  #reuse(instance: Instance, result: Result): Set<Instance> {
    this.#results.set(instance, { key: result.key, outputs: result.outputs });
    this.#options.listener({ event: "cached", instance: instance.name, key: result.key });
    return new Set();
  }

  async #make(
    instance: Instance,
    { key, ingredients, reason }: Running,
    { upstream: outputs, share }: Given,
  ): Promise<void> {
    const { listener, workspace, bundles, platform, mirror, name } = this.#options;
    const bundle = bundles.get(instance.node.stage.name)!;
    const scratch = this.#scratch, folder = scratch.folder();
    const log = new Log(workspace.root, key);
    this.#logs.set(instance, log);
    const estimateSeconds = this.#options.secondsOf(instance) ?? null;
    listener({ event: "started", instance: instance.name, key, reason, estimateSeconds });
    using within = withinTime(instance, { share, signal: this.#signal });
    const order: RecordedOrder = {
      ...{ instance, key, bundle, platform, outputs, folder, scratch, mirror, share },
      ...{ run: name, ingredients },
    };
    try {
      const kept = await makeAndKeep(order, {
        ...this.#options,
        watch: {
          progress: (progress) =>
            listener({ event: "progress", instance: instance.name, ...progress }),
          log(text) {
            log.write(text);
            listener({ event: "log", instance: instance.name, text });
          },
        },
        signal: within.signal,
      });
      this.#logs.delete(instance);
      this.#take(instance, key, kept);
    } finally {
      log.close();
    }
  }

  /** Takes note of what an instance left. */
  #take(instance: Instance, key: Sha256, kept: Kept): void {
    const { listener } = this.#options;
    const { outputs, metrics, seconds } = kept;
    for (const message of kept.pinned) {
      listener({ event: "lock", path: PINS_FILE, message, holds: true });
    }
    this.#results.set(instance, { key, outputs });
    this.made.add(instance);
    listener({ event: "executed", instance: instance.name, key, seconds, metrics });
    for (const unlike of kept.unlike) {
      this.unlike.add(instance);
      listener({ event: "nondeterministic", instance: instance.name, key, ...unlike });
    }
  }
}

/**
 * A run's end of instances that are made elsewhere: what they take is in the store before they are queued,
 * and what they left is taken from there.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import type { Sha256 } from "../key/hash.ts";
import { type Instance, upstream } from "../plan/graph.ts";
import type { BlobState } from "../store/artifact_store.ts";
import type { Trace } from "../store/trace.ts";
import type { Kept } from "./keep.ts";
import type { Queue, QueueOrder, QueueWatch } from "./queue.ts";
import type { RunOptions } from "./run.ts";

/** See the module's comment. */
export class Queued {
  readonly #options: RunOptions;
  /** The states of outputs that are taken, by digest. */
  readonly #states = new Map<Sha256, Promise<BlobState>>();

  constructor(options: RunOptions) {
    this.#options = options;
  }

  /**
   * Has an instance made.
   *
   * @returns What was made now, or was there; or upstream instances, if what they made is damaged.
   * @throws As {@linkcode Queue.make} does.
   */
  async make(
    queue: Queue,
    order: QueueOrder,
    { reason, signal }: { readonly reason: string; readonly signal: AbortSignal },
  ): Promise<Set<Instance> | Kept | Pick<Trace, "outputs">> {
    const { claims, store } = this.#options;
    const { instance, key } = order;
    const damaged = await this.#damagedInputs(order);
    if (damaged.size > 0) return damaged;
    if (order.forced) await claims.keep(() => claims.claim(key));
    const ending = await queue.make(order, this.#watch(order, reason), signal);
    if (ending.ended === "damaged") {
      this.#states.clear();
      return new Set([...upstream(instance)].filter(({ name }) => ending.upstream.includes(name)));
    }
    const trace = await store.trace(key);
    if (!trace) {
      throw new LockstepError(
        `Cannot take the result of ${instance.name}: its job must have left a trace in the store, and ` +
          "none is here; see whether the node and this machine share the folder",
      );
    }
    const { outputs, metrics, seconds } = trace;
    return ending.ended === "found" ? { outputs } : { ...ending, outputs, metrics, seconds };
  }

  #watch({ instance, key }: QueueOrder, reason: string): QueueWatch {
    const { listener, secondsOf } = this.#options;
    const { name } = instance;
    let hasStarted = false;
    return {
      started() {
        if (hasStarted) return;
        hasStarted = true;
        const estimateSeconds = secondsOf(instance) ?? null;
        listener({ event: "started", instance: name, key, reason, estimateSeconds });
      },
      progress: (progress) => listener({ event: "progress", instance: name, ...progress }),
      waiting: (owner) => listener({ event: "waiting", instance: name, owner }),
    };
  }

  /** The upstream instances of which an output is missing or damaged. Many take the same: it is read once. */
  async #damagedInputs({ instance, outputs }: QueueOrder): Promise<Set<Instance>> {
    const damaged = new Set<Instance>();
    for (const { instance: from, output } of Object.values(instance.inputs).flat()) {
      const record = outputs(from)[output]!;
      const { sha256 } = record;
      if (!this.#states.has(sha256)) {
        this.#states.set(sha256, this.#options.store.verifyOutput(record));
      }
      if (await this.#states.get(sha256) === "ok") continue;
      this.#states.delete(sha256);
      damaged.add(from);
    }
    return damaged;
  }
}

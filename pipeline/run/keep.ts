/**
 * Makes one instance and keeps what it made: from then on its key counts as done. The same in the
 * process of a run and in a job of a cluster.
 *
 * @module
 */
import type { Unlike } from "../event.ts";
import type { Ingredients } from "../key/ingredients.ts";
import type { ArtifactStore } from "../store/artifact_store.ts";
import type { Claims } from "../store/claims.ts";
import { keepCode } from "../store/code.ts";
import type { Pins } from "../store/pins.ts";
import type { Trace } from "../store/trace.ts";
import { checkpointPath, type Workspace } from "../store/workspace.ts";
import type { Executor, Metrics, Watch } from "./executor.ts";
import { type Made, madeOn, makeInstance, type Order, takeOutputs } from "./instance.ts";
import { dropCheckpoints, type Scratch } from "./scratch.ts";

/** An order, and what its result is recorded with. */
export interface RecordedOrder extends Order {
  /** `fusion.smoke`. */
  readonly run: string;
  readonly ingredients: Ingredients;
  readonly scratch: Scratch;
}

/** What an instance is made with. */
export interface Means {
  readonly store: ArtifactStore;
  readonly workspace: Workspace;
  readonly claims: Claims;
  readonly pins: Pins;
  readonly executor: Executor;
  readonly watch: Pick<Watch, "progress" | "log">;
  readonly signal: AbortSignal;
}

/** What was kept. */
export interface Kept {
  readonly outputs: Trace["outputs"];
  readonly metrics: Metrics;
  readonly seconds: number;
  /** What is something else than when the key was made before. */
  readonly unlike: readonly Unlike[];
  /** What to say of things that were pinned, one line each. */
  readonly pinned: readonly string[];
}

/**
 * Runs the stage, stores what it made and writes its trace. The caller holds the key's lock.
 *
 * @throws As {@linkcode makeInstance} does.
 */
export async function makeAndKeep(order: RecordedOrder, means: Means): Promise<Kept> {
  const { instance, key, scratch, folder } = order;
  const { store, workspace, pins, executor, watch, signal } = means;
  const started = new Date();
  const clock = performance.now();
  const seen = new Map<string, string>();
  const pin = (name: string, value: string) => {
    pins.check(name, value);
    seen.set(name, value);
  };
  const { checkpoints } = instance.node.stage;
  try {
    const made = await makeInstance(order, { store, workspace }, {
      executor,
      watch: { ...watch, pin },
      signal,
    });
    const kept = await keep(order, made, { ...means, seen, started, clock });
    if (checkpoints) scratch.remove(checkpointPath(workspace, key));
    return kept;
  } finally {
    scratch.remove(folder);
    if (checkpoints) await dropCheckpoints(workspace, key);
  }
}

/** An instance that has run, besides what it left. */
interface Begun {
  /** What it saw of downloads, by name. */
  readonly seen: ReadonlyMap<string, string>;
  readonly started: Date;
  /** What `performance.now()` gave when it began. */
  readonly clock: number;
}

/** Stores what an instance made. Until its trace names that, it belongs to nothing. */
function keep(order: RecordedOrder, made: Made, o: Means & Begun): Promise<Kept> {
  const { store, workspace, claims, pins } = o;
  const { instance: { name: instance, node: { stage } }, key, bundle, platform } = order;
  return claims.keep(async () => {
    const outputs = await takeOutputs(order, made, store);
    await keepCode({ store, workspace }, bundle);
    const pinned = pins.add(o.seen);
    claims.claim(key);
    const seconds = Math.round(performance.now() - o.clock) / 1000;
    const put = await store.putTrace({
      key,
      instance,
      stage: stage.name,
      run: order.run,
      ingredients: order.ingredients,
      sources: bundle.sources,
      outputs,
      metrics: made.metrics,
      started: o.started.toISOString(),
      seconds,
      machine: madeOn(platform, stage),
    });
    return { ...put, metrics: made.metrics, seconds, pinned };
  });
}

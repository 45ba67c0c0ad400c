/**
 * The program of a job: makes the instance of its order as a run on this machine would, and keeps the
 * result in the store, or says there why there is none. Whatever Slurm does, such as to run it twice,
 * a key that has its result is left as it is.
 *
 * ```text
 * deno run -A job.ts STORE BATCH INDEX
 * ```
 *
 * @module
 */
import { explain, StageError } from "../../../errors.ts";
import { describeMachine } from "../../../key/machine.ts";
import { changes } from "../../../key/ingredients.ts";
import type { StageProgress } from "../../../stage.ts";
import { sealedOutputs } from "../../../store/artifact_store.ts";
import { Claims } from "../../../store/claims.ts";
import { modulesOf } from "../../../store/code.ts";
import { LocalStore } from "../../../store/local_store.ts";
import { type HeldLock, isHeld, tryLock } from "../../../store/mutex.ts";
import { Pins } from "../../../store/pins.ts";
import { tryHoldForRun } from "../../../store/run_lock.ts";
import { locksFolder } from "../../../store/workspace.ts";
import type { Executor } from "../../executor.ts";
import { damagedInputs } from "../../instance.ts";
import { makeAndKeep } from "../../keep.ts";
import { Log } from "../../logs.ts";
import type { QueueOrder } from "../../queue.ts";
import { openScratch } from "../../scratch.ts";
import { needsOf } from "../../share.ts";
import { withinTime } from "../../time_limit.ts";
import { LocalExecutor } from "../local.ts";
import { Batches, type JobEnding, type JobPlace } from "./batches.ts";
import { fromJobOrder, type RunFacts } from "./order.ts";

/** Exit code of a job that was asked to end: 128 + SIGTERM. */
const ASKED_TO_END = 143;
const LOCK_POLL_MS = 500;
/** Progress is written at most this often: others read it over a network. */
const PROGRESS_MS = 5000;

type Order = RunFacts & QueueOrder;

/** Makes the instance of a job; returns the exit code. */
async function runJob(root: string, place: JobPlace, signal: AbortSignal): Promise<number> {
  // A catalogue is for one machine: SQLite does not work across a network.
  using store = new LocalStore(root, { catalogued: false });
  const batches = new Batches(store);
  let ending: JobEnding;
  try {
    const order = batches.order(place);
    if (order === undefined) {
      console.error("Somebody has taken note of this job's end before: there is nothing to do");
      return 0;
    }
    ending = await underLocks(fromJobOrder(order), { store, batches, place, signal });
  } catch (error) {
    // Slurm says why, or runs it again.
    if (signal.aborted) {
      console.error("Slurm asked this job to end");
      return ASKED_TO_END;
    }
    ending = { ended: "failed", message: explain(error) };
  }
  batches.writeEnding(place, ending);
  return ending.ended === "failed" ? 1 : 0;
}

async function underLocks(order: Order, making: Making): Promise<JobEnding> {
  const { store, signal } = making;
  const held = tryHoldForRun(store) ?? await afterRepair(store, signal);
  try {
    const lock = await patiently(async () => {
      const taken = await tryLock(locksFolder(store), order.key);
      return isHeld(taken) ? taken : undefined;
    }, signal);
    try {
      return await make(order, making);
    } finally {
      lock.release();
    }
  } finally {
    held.release();
  }
}

function afterRepair(store: LocalStore, signal: AbortSignal): Promise<HeldLock> {
  console.error('"audit --repair" is at work on the store: this job waits for its end');
  return patiently(() => tryHoldForRun(store), signal);
}

/** Asks again and again, until there is something. */
async function patiently<T>(
  ask: () => T | undefined | Promise<T | undefined>,
  signal: AbortSignal,
): Promise<T> {
  for (;;) {
    signal.throwIfAborted();
    const found = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
  }
}

interface Making {
  readonly store: LocalStore;
  readonly batches: Batches;
  readonly place: JobPlace;
  readonly signal: AbortSignal;
}

async function make(order: Order, making: Making): Promise<JobEnding> {
  const { store } = making;
  const { instance, key, run } = order;
  if (!order.forced && typeof await sealedOutputs(store, key, { whole: true }) === "object") {
    return { ended: "found" };
  }
  const executor = new LocalExecutor({ uncaged: order.uncaged });
  await requireIngredients(order, executor);
  const claims = new Claims(store, run);
  try {
    await claims.keep(() => claimAll(order, { store, claims }));
    const damaged = await damagedInputs(instance, order.outputs, store);
    if (damaged.size === 0) return await makeNow(order, { ...making, claims, executor });
    return { ended: "damaged", upstream: [...damaged].map(({ name }) => name) };
  } finally {
    await claims.close();
  }
}

/** What it counts on stays, whatever becomes of its order. */
function claimAll(
  { instance, key, bundle, outputs }: Order,
  { store, claims }: { readonly store: LocalStore; readonly claims: Claims },
): void {
  claims.claim(key);
  for (const { instance: from, output } of Object.values(instance.inputs).flat()) {
    claims.claim(outputs(from)[output]!.sha256);
  }
  for (const digest of modulesOf(store, bundle)) claims.claim(digest);
}

async function makeNow(order: Order, { store, batches, place, signal, claims, executor }: Making & {
  readonly claims: Claims;
  readonly executor: Executor;
}): Promise<JobEnding> {
  const { instance, key } = order;
  const log = new Log(store.root, key);
  const scratch = await openScratch(store, { alone: true });
  const needs = needsOf(instance, order.platform);
  // Slurm shows a job just its own adapters, numbered from 0.
  const share = { ...needs, adapters: Array.from({ length: needs.gpus }, (_, number) => number) };
  try {
    using within = withinTime(instance, { share, signal });
    const kept = await makeAndKeep({ ...order, folder: scratch.folder(), scratch, share }, {
      ...{ store, workspace: store, claims, executor, signal: within.signal },
      pins: new Pins(order.root, { keep: order.keepPins }),
      watch: {
        progress: nowAndThen((progress) => batches.writeProgress(place, progress)),
        log: (text) => log.write(text),
      },
    });
    return { ended: "made", unlike: kept.unlike, pinned: kept.pinned };
  } catch (error) {
    if (!signal.aborted) log.write(`${explain(error)}\n`);
    throw error;
  } finally {
    log.close();
    scratch.close();
  }
}

/**
 * Refuses a node that is not what the key says.
 *
 * @throws {StageError}
 */
async function requireIngredients(
  { ingredients, instance: { node: { stage } }, platform }: Order,
  executor: Executor,
): Promise<void> {
  const own = stage.command
    ? await executor.examine(stage.command)
    : { ingredients: stage.numeric ? (await executor.platform(platform.backend)).ingredients : {} };
  if ("violation" in own) {
    throw new StageError(`Cannot run "${stage.name}" on this node: ${own.violation.message}`);
  }
  const here: Record<string, string> = { ...own.ingredients };
  if (ingredients["deno"] !== undefined) here["deno"] = Deno.version.deno;
  if (ingredients["machine"] !== undefined) here["machine"] = describeMachine();
  const there = Object.fromEntries(Object.keys(here).map((name) => [name, ingredients[name]!]));
  const [change] = changes(there, here);
  if (change === undefined) return;
  throw new StageError(
    `Cannot run "${stage.name}" on this node: its key says that "${change.ingredient}" is ` +
      `${
        change.before ?? "not there"
      }, and here it is ${change.now}; choose like nodes by slurm.options ` +
      "or partition, or run this stage where the run is, executor: local",
  );
}

function nowAndThen(report: (progress: StageProgress) => void): (progress: StageProgress) => void {
  let last = -Infinity;
  return (progress) => {
    if (performance.now() - last < PROGRESS_MS) return;
    last = performance.now();
    report(progress);
  };
}

if (import.meta.main) {
  const [root = "", batch = "", index = ""] = Deno.args;
  const controller = new AbortController();
  // Slurm asks so before it kills: at the time limit, and to make room for another job.
  Deno.addSignalListener("SIGTERM", () => controller.abort());
  const place = { batch, index: Number(index) };
  // Whoever reads what the job printed finds it there.
  const failed = (error: unknown) => {
    console.error(`Cannot say how this job ended: ${explain(error)}`);
    return 1;
  };
  Deno.exit(await runJob(root, place, controller.signal).catch(failed));
}

/**
 * What a run leaves while it goes on, for whoever watches from another process: one small file that
 * is written again at most twice a second, and removed at the end.
 *
 * A killed run leaves its file behind; the lock it held has ended with it, which shows it.
 *
 * @module
 */
import { join } from "node:path";
import type { Event, Listener } from "../event.ts";
import { Tail } from "../run/logs.ts";
import { isHeld, isLocked, tryLock } from "../store/mutex.ts";
import type { StageProgress } from "../stage.ts";
import { locksFolder, type Workspace } from "../store/workspace.ts";
import { Pace } from "./pace.ts";

/** One instance that is running. */
export interface LiveInstance {
  readonly instance: string;
  readonly key: string;
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly progress: StageProgress | null;
  /** Units a second, over what this process saw of it. */
  readonly rate: number | null;
  /** Figure to its course, `[done, value]`, thinned. */
  readonly curves: Readonly<Record<string, readonly (readonly [number, number])[]>>;
  /** The last lines it printed. */
  readonly output: readonly string[];
}

/** One instance that ended: how, and what is worth knowing. */
export interface LiveEnding {
  readonly instance: string;
  readonly ending: "executed" | "failed" | "skipped";
  readonly seconds: number | null;
  readonly metrics: Readonly<Record<string, number>>;
  readonly message: string;
}

/** A run that goes on. */
export interface LiveRun {
  /** `fusion.smoke`. */
  readonly name: string;
  readonly backend: string;
  readonly pid: number;
  /** Milliseconds since 1970. */
  readonly started: number;
  readonly jobs: number;
  /** Stage to its instances and how many of them ended, in the order of the graph. */
  readonly stages: Readonly<Record<string, { readonly total: number; readonly ended: number }>>;
  readonly instances: number;
  readonly cached: number;
  readonly executed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Seconds left, if anything is known. */
  readonly secondsLeft: number | null;
  readonly running: readonly LiveInstance[];
  /** The latest, newest first. */
  readonly recent: readonly LiveEnding[];
  readonly failures: readonly LiveEnding[];
}

const WRITE_MS = 500;
const KEPT_ENDINGS = 30;
const KEPT_MESSAGE = 2000;
const KEPT_POINTS = 120;
const KEPT_CURVES = 6;
const KEPT_LINES = 5;

/** What a run must say of itself. */
export interface LiveOptions {
  readonly name: string;
  /** Instance names in the order of the graph, with their stage. */
  readonly instances: readonly (readonly [name: string, stage: string])[];
}

/**
 * Starts to leave a run's state in the store. What keeps it from being written is ignored: a run
 * must not fail for want of an audience.
 */
export async function openLive(
  workspace: Workspace,
  options: LiveOptions,
): Promise<{ readonly listener: Listener; close(): void }> {
  const folder = join(workspace.root, "live");
  const locks = locksFolder(workspace);
  await removeDead(folder, locks);
  const state = new LiveState(options);
  const id = `live-${crypto.randomUUID()}`;
  const lock = await tryLock(locks, id);
  if (!isHeld(lock)) throw new Error(`Live file ${id} is held by process ${lock.pid}`);
  const path = join(folder, `${id}.json`);
  const write = () => {
    try {
      Deno.mkdirSync(folder, { recursive: true });
      Deno.writeTextFileSync(`${path}.tmp`, `${JSON.stringify(state.snapshot(Date.now()))}\n`);
      Deno.renameSync(`${path}.tmp`, path);
    } catch { /* nobody sees it then */ }
  };
  write();
  const timer = setInterval(write, WRITE_MS);
  return {
    listener: (event) => state.take(event, Date.now()),
    close() {
      clearInterval(timer);
      for (const file of [path, `${path}.tmp`]) remove(file);
      lock.release();
    },
  };
}

/** The runs that go on at a store, oldest first. Reads only. */
export async function readLive(storeRoot: string): Promise<LiveRun[]> {
  const folder = join(storeRoot, "live");
  const runs: LiveRun[] = [];
  for (const name of liveFiles(folder)) {
    if (!await isLocked(join(storeRoot, "locks"), name.slice(0, -5))) continue;
    try {
      runs.push(JSON.parse(Deno.readTextFileSync(join(folder, name))));
    } catch { /* it ended meanwhile */ }
  }
  return runs.sort((a, b) => a.started - b.started || a.pid - b.pid);
}

function liveFiles(folder: string): string[] {
  try {
    return [...Deno.readDirSync(folder)].map(({ name }) => name)
      .filter((name) => name.endsWith(".json")).sort();
  } catch {
    return [];
  }
}

/** Removes what killed runs left. */
async function removeDead(folder: string, locks: string): Promise<void> {
  for (const name of liveFiles(folder)) {
    const id = name.slice(0, -5);
    if (await isLocked(locks, id)) continue;
    for (const path of [join(folder, name), join(folder, `${name}.tmp`), join(locks, id)]) {
      remove(path);
    }
  }
}

function remove(path: string): void {
  try {
    Deno.removeSync(path);
  } catch { /* it is not there */ }
}

interface Running {
  readonly key: string;
  readonly reason: string;
  readonly since: number;
  progress?: StageProgress;
  /** The first progress seen, which the rate counts from: a resumed training starts midway. */
  first?: { readonly done: number; readonly unit: string; readonly at: number };
  at: number;
  readonly curves: Map<string, Curve>;
  readonly printed: Tail;
}

/** Takes events and keeps of them what a watcher sees: bounded, however long the run. */
export class LiveState {
  readonly #options: LiveOptions;
  readonly #stageOf: ReadonlyMap<string, string>;
  readonly #running = new Map<string, Running>();
  readonly #endings = new Map<string, "cached" | "executed" | "failed" | "skipped">();
  readonly #recent: LiveEnding[] = [];
  readonly #failures: LiveEnding[] = [];
  #backend = "";
  #jobs = 1;
  readonly #pace = new Pace();
  #started: number | undefined;

  constructor(options: LiveOptions) {
    this.#options = options;
    this.#stageOf = new Map(options.instances);
  }

  /** Takes an event that happened at a time, in milliseconds since 1970. */
  take(event: Event, at: number): void {
    this.#pace.take(event, at / 1000);
    switch (event.event) {
      case "plan":
        this.#started = at;
        this.#backend = event.backend;
        this.#jobs = event.jobs;
        return;
      case "cached":
        this.#endings.set(event.instance, "cached");
        return;
      case "started":
        this.#endings.delete(event.instance);
        this.#running.set(event.instance, {
          key: event.key,
          reason: event.reason,
          since: at,
          at,
          curves: new Map(),
          printed: new Tail(KEPT_LINES),
        });
        return;
      case "progress": {
        const running = this.#running.get(event.instance);
        if (running) takeProgress(running, event, at);
        return;
      }
      case "log":
        this.#running.get(event.instance)?.printed.take(event.text);
        return;
      case "executed":
        return this.#end(event.instance, { ...event, ending: "executed", message: "" });
      case "failed": {
        const message = event.message.slice(0, KEPT_MESSAGE);
        return this.#end(event.instance, { ending: "failed", message });
      }
      case "stopped":
      case "skipped":
        return this.#end(event.instance, {
          ending: "skipped",
          message: event.event === "skipped"
            ? `it needs ${event.because}`
            : `${event.because} failed`,
        });
    }
  }

  #end(
    instance: string,
    { ending, seconds, metrics, message }:
      & Pick<LiveEnding, "ending" | "message">
      & { readonly seconds?: number; readonly metrics?: LiveEnding["metrics"] },
  ): void {
    this.#running.delete(instance);
    this.#endings.set(instance, ending);
    const entry = { instance, ending, seconds: seconds ?? null, metrics: metrics ?? {}, message };
    for (const list of ending === "failed" ? [this.#recent, this.#failures] : [this.#recent]) {
      list.unshift(entry);
      if (list.length > KEPT_ENDINGS) list.pop();
    }
  }

  /** What a watcher sees at a time, in milliseconds since 1970. */
  snapshot(now: number): LiveRun {
    const count = (wanted: string) =>
      [...this.#endings.values()].filter((ending) => ending === wanted).length;
    const stages: Record<string, { total: number; ended: number }> = {};
    for (const [name, stage] of this.#options.instances) {
      const counts = stages[stage] ??= { total: 0, ended: 0 };
      counts.total++;
      if (this.#endings.has(name)) counts.ended++;
    }
    const cached = count("cached");
    const started = this.#started ?? now;
    return {
      name: this.#options.name,
      backend: this.#backend,
      pid: Deno.pid,
      started,
      jobs: this.#jobs,
      stages,
      instances: this.#stageOf.size,
      cached,
      executed: count("executed"),
      failed: count("failed"),
      skipped: count("skipped"),
      secondsLeft: this.#pace.remaining(now / 1000) ?? null,
      running: [...this.#running].map(([instance, running]) => ({
        instance,
        key: running.key,
        reason: running.reason,
        since: running.since,
        progress: running.progress ?? null,
        rate: rateOf(running),
        curves: Object.fromEntries([...running.curves].map(([name, { points }]) => [name, points])),
        output: running.printed.lines(),
      })),
      recent: this.#recent,
      failures: this.#failures,
    };
  }
}

function takeProgress(
  running: Running,
  { done, total, unit, values }: StageProgress,
  at: number,
): void {
  const { first, progress } = running;
  if (first?.unit !== unit || done < (progress?.done ?? 0)) running.first = { done, unit, at };
  // A stage need not repeat all its figures: one that it left out still holds.
  running.progress = { done, total, unit, values: { ...progress?.values, ...values } };
  running.at = at;
  for (const [name, value] of Object.entries(values ?? {})) {
    let curve = running.curves.get(name);
    if (!curve && running.curves.size < KEPT_CURVES) {
      running.curves.set(name, curve = new Curve());
    }
    if (Number.isFinite(value)) curve?.add([done, value]);
  }
}

function rateOf({ first, progress, at }: Running): number | null {
  if (!first || !progress || at <= first.at || progress.done <= first.done) return null;
  return (progress.done - first.done) / ((at - first.at) / 1000);
}

/** A course of points of which, when they get too many, every second one goes. */
class Curve {
  points: (readonly [number, number])[] = [];
  #stride = 1;
  #seen = 0;

  add(point: readonly [number, number]): void {
    if (this.#seen++ % this.#stride !== 0) return;
    this.points.push(point);
    if (this.points.length < KEPT_POINTS) return;
    this.points = this.points.filter((_, index) => index % 2 === 0);
    this.#stride *= 2;
  }
}

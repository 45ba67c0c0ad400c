/**
 * How long a run still takes: what earlier runs say of each stage, corrected by what this one shows.
 *
 * An early estimate that rests on the quickest stages alone would rise many times over later. So
 * there is none while it would have to guess about most instances, and a stage about which nothing
 * is known counts like the slowest that is known.
 *
 * @module
 */
import type { Event, ExpectedStage } from "../event.ts";
import type { StageProgress } from "../stage.ts";

/** Largest share of instances about which nothing is known, for an estimate. */
const MAX_UNKNOWN_SHARE = 2 / 3;
/** Seconds an instance must take to say anything of stages about which nothing is known. */
const TELLING_SECONDS = 10;
/** Seconds of work that a run must have shown before its speed corrects what earlier runs say. */
const TRUSTED_SECONDS = 10;
/** What is left of an instance that runs longer than it should, as a share of what it took. */
const OVERDUE_SHARE = 0.1;

/** Seconds here beside those that earlier runs say of the same instances, or parts of them. */
interface Evidence {
  instances: number;
  seconds: number;
  expected: number;
}

/** A stage as far as this run got with it. */
interface Stage extends ExpectedStage {
  left: number;
  /** Those that did not start, and the seconds that earlier runs say of them. */
  waiting: number;
  waitingSeconds: number;
  readonly ended: Evidence;
}

interface Running {
  readonly stage: Stage;
  readonly since: number;
  readonly expected: number;
  /** The first progress seen: a resumed training starts midway. */
  first?: { readonly done: number; readonly unit: string; readonly at: number };
  last?: { readonly done: number; readonly total: number; readonly at: number };
}

/** Follows a run's events. Times are in seconds, of any one clock. */
export class Pace {
  readonly #stages = new Map<string, Stage>();
  readonly #running = new Map<string, Running>();

  /** Takes note of an event. */
  take(event: Event, at: number): void {
    switch (event.event) {
      case "plan":
        return this.expect(event.stages);
      case "started":
        return this.#start(event, at);
      case "progress": {
        const running = this.#running.get(event.instance);
        if (running) takeProgress(running, event, at);
        return;
      }
      case "executed": {
        const running = this.#running.get(event.instance);
        if (running) {
          const { ended } = running.stage;
          ended.instances++;
          ended.seconds += event.seconds;
          ended.expected += running.expected;
        }
        return this.#end(event.instance);
      }
      case "cached":
      case "failed":
      case "stopped":
      case "skipped":
        return this.#end(event.instance);
    }
  }

  /** Begins with what is expected of each stage. */
  expect(stages: readonly ExpectedStage[]): void {
    for (const stage of stages) this.#stages.set(stage.stage, begin(stage));
  }

  #start(event: Extract<Event, { event: "started" }>, since: number): void {
    const stage = this.#stages.get(stageOf(event.instance));
    if (!stage) return;
    const expected = event.estimateSeconds ?? stage.seconds ?? 0;
    leave(stage, expected);
    this.#running.set(event.instance, { stage, since, expected });
  }

  #end(instance: string): void {
    const stage = this.#stages.get(stageOf(instance));
    if (!stage || stage.left === 0) return;
    stage.left--;
    if (!this.#running.delete(instance)) leave(stage, stage.seconds ?? 0);
  }

  /** Seconds of wall-clock time that the run still takes; `undefined` while too little is known. */
  remaining(now: number): number | undefined {
    const stages = [...this.#stages.values()];
    const open = stages.filter(({ left }) => left > 0);
    if (open.length === 0) return 0;
    const evidence = new Map(stages.map((stage) => [stage, this.#evidence(stage)]));
    const speed = speedOf(evidence);
    const known = new Map<Stage, number>();
    for (const stage of stages) {
      const seconds = secondsOf(stage, evidence.get(stage)!, speed);
      if (seconds !== undefined) known.set(stage, seconds);
    }
    const slowest = Math.max(0, ...known.values());
    const unknown = sum(open.filter((stage) => !known.has(stage)), ({ left }) => left);
    const isGuess = slowest < TELLING_SECONDS ||
      unknown > MAX_UNKNOWN_SHARE * sum(stages, ({ instances }) => instances);
    if (unknown > 0 && isGuess) return undefined;
    return sum(open, (stage) => this.#wallClock(stage, known.get(stage) ?? slowest, now));
  }

  /** Seconds that a stage still takes where an instance takes so many. */
  #wallClock(stage: Stage, seconds: number, now: number): number {
    const running = [...this.#running.values()].filter((one) => one.stage === stage);
    const work = sum(running, (one) => leftOf(one, seconds, now)) + stage.waiting * seconds;
    return stage.alone ? work : work / Math.min(stage.atOnce, stage.left);
  }

  /** What this run shows of a stage. */
  #evidence(stage: Stage): Evidence {
    const evidence = { ...stage.ended };
    for (const running of this.#running.values()) {
      const shown = running.stage === stage ? shownBy(running) : undefined;
      if (!shown) continue;
      evidence.instances += shown.share;
      evidence.seconds += shown.share * shown.seconds;
      evidence.expected += shown.share * running.expected;
    }
    return evidence;
  }
}

function begin(stage: ExpectedStage): Stage {
  const { instances, seconds } = stage;
  const ended = { instances: 0, seconds: 0, expected: 0 };
  const waitingSeconds = instances * (seconds ?? 0);
  return { ...stage, left: instances, waiting: instances, waitingSeconds, ended };
}

/** An instance waits no more. */
function leave(stage: Stage, expected: number): void {
  stage.waiting = Math.max(stage.waiting - 1, 0);
  stage.waitingSeconds = Math.max(stage.waitingSeconds - expected, 0);
}

function takeProgress(running: Running, { done, total, unit }: StageProgress, at: number): void {
  const isOther = running.first?.unit !== unit || done < (running.last?.done ?? 0);
  if (isOther) running.first = { done, unit, at };
  running.last = { done, total, at };
}

/** The stage of an instance, which its name begins with. */
function stageOf(instance: string): string {
  return instance.split("/")[0]!;
}

/** The share of a running instance that was seen, and the seconds that all of it takes at that pace. */
function shownBy({ since, first, last }: Running): { share: number; seconds: number } | undefined {
  if (!first || !last || last.done <= first.done || last.at <= first.at) return undefined;
  const share = (last.done - first.done) / last.total;
  return { share, seconds: first.at - since + (last.at - first.at) / share };
}

/** Seconds that a running instance still takes. */
function leftOf(running: Running, seconds: number, now: number): number {
  const { first, last, since } = running;
  const elapsed = now - since;
  const left = first && last && last.done > first.done
    ? (last.total - last.done) * (last.at - first.at) / (last.done - first.done) - (now - last.at)
    : seconds - elapsed;
  return Math.max(left, elapsed * OVERDUE_SHARE);
}

/** How much slower this run is than earlier ones; what little was seen counts little. */
function speedOf(evidence: ReadonlyMap<Stage, Evidence>): number {
  let here = TRUSTED_SECONDS, earlier = TRUSTED_SECONDS;
  for (const [stage, { seconds, expected }] of evidence) {
    if (stage.seconds === null) continue;
    here += seconds;
    earlier += expected;
  }
  return here / earlier;
}

/** Seconds that each of a stage's waiting instances takes; earlier runs count as one of this. */
function secondsOf(stage: Stage, evidence: Evidence, speed: number): number | undefined {
  if (stage.seconds === null) {
    return evidence.instances > 0 ? evidence.seconds / evidence.instances : undefined;
  }
  const each = stage.waiting > 0 ? stage.waitingSeconds / stage.waiting : stage.seconds;
  const whole = stage.seconds + evidence.expected;
  const slower = whole > 0 ? (stage.seconds * speed + evidence.seconds) / whole : speed;
  return each * slower;
}

function sum<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}

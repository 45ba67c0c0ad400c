/**
 * `plan --calibrate`: where no earlier run shows how long an instance takes, one of its configuration
 * is run for some seconds. What ends in that time is a result like any other and kept; of the rest
 * the pace of its progress says it.
 *
 * @module
 */
import type { Event } from "../event.ts";
import type { Json } from "../key/canonical.ts";
import { taggedHash } from "../key/hash.ts";
import { type Instance, upstream } from "../plan/graph.ts";
import { type Decision, estimate, plan } from "../plan/plan.ts";
import { holdForRun } from "../store/run_lock.ts";
import { Pace } from "../views/pace.ts";
import { interruptible } from "./interrupt.ts";
import { duration } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { runGraph } from "./run_graph.ts";
import { sealed, type Session } from "./session.ts";

/** How long an instance runs at most. */
const MAX_MS = 20_000;
/** How long its progress is watched: the first steps compile and warm up. */
const WATCHED_MS = 3_000;

/** What one instance showed. */
export interface Calibrated {
  readonly instance: string;
  /** Seconds that it takes; `null` if it showed no progress in time, or failed. */
  readonly seconds: number | null;
  /** Whether it ended, so that its result is kept. */
  readonly finished: boolean;
  readonly failure?: string;
}

/** What a calibration takes. */
export interface CalibrateOptions {
  readonly project: Project;
  readonly options: Options;
  readonly print: Print;
}

/** The session with what was found out; `undefined` if that was interrupted. */
export async function calibrate(
  opened: Session,
  o: CalibrateOptions,
): Promise<Session | undefined> {
  const held = holdForRun(opened.store);
  try {
    return await tryAll(await sealed(opened, o.options), o);
  } finally {
    held.release();
  }
}

async function tryAll(
  session: Session,
  { project, options, print }: CalibrateOptions,
): Promise<Session | undefined> {
  const configurations = new Configurations();
  const measured = new Map<string, number | null>();
  const isComplete = await interruptible(async (signal) => {
    const decisions = new Map(session.decisions);
    const isDone = (one: Instance) => decisions.get(one)?.action === "cached";
    for (const instance of session.graph) {
      if (isDone(instance) || session.secondsOf(instance) !== undefined) continue;
      const configuration = configurations.of(instance);
      // What needs a result that is not there can't run.
      if (measured.has(configuration) || ![...upstream(instance)].every(isDone)) continue;
      const trial = { ...session, decisions };
      const { calibrated, decision } = await tryOut(instance, trial, {
        root: project.root,
        signal,
      });
      if (signal.aborted) return false;
      if (decision) decisions.set(instance, decision);
      measured.set(configuration, calibrated.seconds);
      print(
        options.json ? JSON.stringify({ event: "calibrated", ...calibrated }) : line(calibrated),
      );
    }
    return true;
  });
  if (!isComplete) return undefined;
  const secondsOf = (instance: Instance) =>
    session.secondsOf(instance) ?? measured.get(configurations.of(instance)) ?? undefined;
  const decisions = await plan(session.graph, session.planInput);
  const expected = estimate(decisions, secondsOf, session.atOnce);
  return { ...session, decisions, secondsOf, estimate: expected };
}

function line({ instance, seconds, finished, failure }: Calibrated): string {
  if (failure !== undefined) return `tried  ${instance}  failed: ${failure}`;
  if (seconds === null) return `tried  ${instance}  no progress within ${MAX_MS / 1000} s`;
  return `tried  ${instance}  ${finished ? "took" : "would take about"} ${duration(seconds)}`;
}

/** Runs an instance until it ends or its pace is known. */
async function tryOut(
  instance: Instance,
  session: Session,
  { root, signal }: { readonly root: string; readonly signal: AbortSignal },
): Promise<{ readonly calibrated: Calibrated; readonly decision?: Decision }> {
  const trial = new Trial(instance);
  const { results } = await runGraph(session, {
    root,
    graph: [...inputsOf(instance), instance],
    decisions: session.decisions,
    jobs: 1,
    failFast: true,
    keepPins: true,
    listener: (event) => trial.take(event),
    signal: AbortSignal.any([signal, trial.signal]),
  });
  trial.close();
  const result = results.get(instance);
  return {
    calibrated: { ...trial.found, finished: result !== undefined },
    ...(result ? { decision: { action: "cached", ...result } } : {}),
  };
}

/** Follows one instance until its pace is known. */
class Trial {
  readonly #enough = new AbortController();
  readonly #instance: string;
  readonly #pace = new Pace();
  #started = 0;
  #firstProgress: number | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #seconds: number | null = null;
  #failure: string | undefined;

  constructor({ name, node }: Instance) {
    this.#instance = name;
    const { alone = false } = node.stage;
    this.#pace.expect([{ stage: node.name, instances: 1, seconds: null, alone, atOnce: 1 }]);
  }

  /** Aborted when the trial is over. */
  get signal(): AbortSignal {
    return this.#enough.signal;
  }

  get found(): Omit<Calibrated, "finished"> {
    return {
      instance: this.#instance,
      seconds: this.#seconds,
      ...(this.#failure === undefined ? {} : { failure: this.#failure }),
    };
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  take(event: Event): void {
    if (!("instance" in event) || event.instance !== this.#instance) return;
    const now = performance.now();
    this.#pace.take(event, now / 1000);
    switch (event.event) {
      case "started":
        this.#started = now;
        this.#timer = setTimeout(() => this.#enough.abort(), MAX_MS);
        return;
      case "progress": {
        this.#firstProgress ??= now;
        const left = this.#pace.remaining(now / 1000);
        if (left !== undefined) this.#seconds = (now - this.#started) / 1000 + left;
        if (now - this.#firstProgress > WATCHED_MS) this.#enough.abort();
        return;
      }
      case "executed":
        this.#seconds = event.seconds;
        return;
      case "failed":
        this.#failure = event.message;
        return;
    }
  }
}

/** All that an instance is made from, upstream before downstream. */
function inputsOf(instance: Instance): Set<Instance> {
  const found = new Set<Instance>();
  for (const from of upstream(instance)) {
    for (const one of [...inputsOf(from), from]) found.add(one);
  }
  return found;
}

/** What the time of an instance depends on: its stage, its params and what feeds it, but no seed. */
class Configurations {
  readonly #known = new Map<Instance, string>();

  of(instance: Instance): string {
    let found = this.#known.get(instance);
    if (found === undefined) this.#known.set(instance, found = this.#describe(instance));
    return found;
  }

  #describe({ node, params, inputs }: Instance): string {
    const { seed: _, ...rest } = params as Readonly<Record<string, Json>>;
    const from = Object.entries(inputs).map(([input, bindings]) =>
      [input, [...new Set(bindings.map((binding) => this.of(binding.instance)))].sort()] as const
    );
    return taggedHash("configuration", [node.stage.name, rest, Object.fromEntries(from)]);
  }
}

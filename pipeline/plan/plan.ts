/**
 * The plan: for every instance whether it must run, and why. Pure: it reads what it is given and
 * changes nothing.
 *
 * @module
 */
import { type Change, changes, type Ingredients, keyOf } from "../key/ingredients.ts";
import { shorten } from "../key/shorten.ts";
import { ingredientsOf, inputDigests } from "./ingredients.ts";
import { type Graph, type Instance, isAnyUpstream, upstream } from "./graph.ts";
import type { Sha256 } from "../key/hash.ts";
import type { FoundOutputs } from "../store/artifact_store.ts";
import type { Trace } from "../store/trace.ts";

/** What is to be done about an instance. */
export type Decision =
  | { readonly action: "cached"; readonly key: Sha256; readonly outputs: Trace["outputs"] }
  | {
    readonly action: "run";
    readonly key: Sha256;
    readonly ingredients: Ingredients;
    readonly reason: string;
    /** The difference to an earlier trace that the reason names. */
    readonly change?: Change;
  }
  /** Something upstream runs first; whether this runs depends on what comes out. */
  | { readonly action: "wait"; readonly upstream: readonly string[]; readonly reason: string };

/** What a plan is made from. */
export interface PlanInput {
  /** The ingredients all instances of a node share. */
  readonly shared: (node: string) => Ingredients;
  /**
   * The outputs of a key, if it has a trace and all of them are there; with `whole`, if every byte of
   * them is as it was, as far as the plan is for acting on.
   */
  readonly outputs: (key: Sha256, how: { readonly whole: boolean }) => Promise<FoundOutputs>;
  /** Keys whose results are taken where there is none of an instance's own: those of other platforms. */
  readonly otherKeys?: (ingredients: Ingredients) => Promise<readonly Sha256[]>;
  /** The trace an instance's ingredients are compared with, to say what changed. */
  readonly previous: (instance: Instance) => Promise<Trace | undefined>;
  /** Whether an instance is to run whatever its key says. */
  readonly forced: (instance: Instance) => boolean;
}

/**
 * The outputs of a key as those of an instance. A store may have been written to by others, so they
 * count as lost where they are not what the stage declares.
 */
export async function outputsOf(
  instance: Instance,
  key: Sha256,
  input: PlanInput,
): Promise<FoundOutputs> {
  const declared = instance.node.stage.outputs;
  const found = await input.outputs(key, { whole: isPublished(instance) });
  if (typeof found !== "object") return found;
  for (const name in declared) {
    if (!Object.hasOwn(found, name) || found[name]!.kind !== declared[name]!.kind) return "lost";
  }
  return found;
}

/** Whether copies of its outputs are published: then they are about to be read whole. */
export function isPublished({ node }: Instance): boolean {
  const { outputs } = node.stage;
  for (const name in outputs) if (outputs[name]!.publish) return true;
  return false;
}

/** Decides about one instance whose upstream outputs are all known. */
export async function decide(
  instance: Instance,
  outputs: (upstream: Instance) => Trace["outputs"],
  input: PlanInput,
): Promise<Exclude<Decision, { action: "wait" }>> {
  const shared = input.shared(instance.node.name);
  const ingredients = ingredientsOf(instance, shared, inputDigests(instance, outputs));
  const key = keyOf(ingredients);
  if (input.forced(instance)) return { action: "run", key, ingredients, reason: "forced" };
  const found = await outputsOf(instance, key, input);
  if (typeof found === "object") return { action: "cached", key, outputs: found };
  for (const other of await input.otherKeys?.(ingredients) ?? []) {
    const taken = await outputsOf(instance, other, input);
    if (typeof taken === "object") return { action: "cached", key: other, outputs: taken };
  }
  const why = found === "lost"
    ? { reason: "its result is lost or damaged" }
    : reasonFor(await input.previous(instance), ingredients);
  return { action: "run", key, ingredients, ...why };
}

/** Decides about every instance, as far as that can be known before anything runs. */
export async function plan(graph: Graph, input: PlanInput): Promise<Map<Instance, Decision>> {
  const decisions = new Map<Instance, Decision>();
  const outputs = (from: Instance) => {
    const decision = decisions.get(from);
    if (decision?.action !== "cached") throw new Error(`No outputs of ${from.name} are known`);
    return decision.outputs;
  };
  const isPending = (from: Instance) => decisions.get(from)?.action !== "cached";
  for (const level of levels(graph)) {
    // Together: a store may have to ask for each key over a network.
    const decided = await Promise.all(level.map((instance): Promise<Decision> | Decision => {
      const pending = isAnyUpstream(instance, isPending)
        ? [...upstream(instance)].filter(isPending)
        : [];
      return pending.length === 0 ? decide(instance, outputs, input) : waiting(pending);
    }));
    level.forEach((instance, index) => decisions.set(instance, decided[index]!));
  }
  return new Map(graph.map((instance) => [instance, decisions.get(instance)!]));
}

function waiting(pending: readonly Instance[]): Decision {
  const more = pending.length > 1 ? ` and ${pending.length - 1} more` : "";
  return {
    action: "wait",
    upstream: pending.map((from) => from.name),
    reason: `after ${pending[0]!.name}${more}`,
  };
}

/** Instances that need nothing, then those that need but such, and so on. */
function levels(graph: Graph): Instance[][] {
  const found: Instance[][] = [];
  const heights = new Map<Instance, number>();
  for (const instance of graph) {
    let height = 0;
    isAnyUpstream(instance, (from) => {
      height = Math.max(height, heights.get(from)! + 1);
      return false;
    });
    heights.set(instance, height);
    (found[height] ??= []).push(instance);
  }
  return found;
}

/** The named difference to an earlier trace, in one line. */
function reasonFor(
  previous: Trace | undefined,
  now: Ingredients,
): { readonly reason: string; readonly change?: Change } {
  if (!previous) return { reason: "first run" };
  const [change, ...rest] = changes(previous.ingredients, now);
  if (!change) return { reason: "its trace is lost or damaged" };
  const more = rest.length > 0 ? ` (and ${rest.length} more)` : "";
  const reason = `${change.ingredient}: ${brief(change.before)} → ${brief(change.now)}${more}`;
  return { reason, change };
}

const MAX_VALUE_LENGTH = 48;

/** A value short enough for a line; `why` prints it whole. */
function brief(value: string | undefined): string {
  const text = shorten(value);
  return text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH - 1)}…`;
}

/** How long work is expected to take. */
export interface Estimate {
  /** Seconds of wall-clock time; `null` if no earlier trace says. */
  readonly seconds: number | null;
  /** Instances about which no earlier trace says anything. */
  readonly unknown: number;
}

/**
 * Estimates the wall-clock time of what is to run: the work of those that run at once and
 * that of instances that run alone, though never less than the longest chain of instances.
 *
 * @param secondsOf Seconds an instance is expected to take, if anything is known.
 * @param atOnce How many instances of its stage can run at once.
 */
export function estimate(
  decisions: ReadonlyMap<Instance, Decision>,
  secondsOf: (instance: Instance) => number | undefined,
  atOnce: (instance: Instance) => number,
): Estimate {
  let shared = 0, alone = 0, longest = 0, unknown = 0, counted = 0;
  const ends = new Map<Instance, number>();
  for (const [instance, decision] of decisions) {
    if (decision.action === "cached") continue;
    const seconds = secondsOf(instance);
    if (seconds === undefined) unknown++;
    else counted++;
    if (instance.node.stage.alone) alone += seconds ?? 0;
    else shared += (seconds ?? 0) / atOnce(instance);
    const start = Math.max(0, ...[...upstream(instance)].map((from) => ends.get(from) ?? 0));
    ends.set(instance, start + (seconds ?? 0));
    longest = Math.max(longest, start + (seconds ?? 0));
  }
  if (counted === 0 && unknown > 0) return { seconds: null, unknown };
  return { seconds: Math.max(shared + alone, longest), unknown };
}

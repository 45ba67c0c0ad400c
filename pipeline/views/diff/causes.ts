/**
 * Why instances of two runs differ: each changed ingredient, the instances it changed itself, and
 * those it reached through their inputs. And where a change stopped.
 *
 * @module
 */
import type { InstanceDiff, Side } from "./sides.ts";
import type { Change } from "../../key/ingredients.ts";

/** One root of differences between two runs. */
export interface Cause {
  /**
   * `ingredient`: it changed; `added`, `removed`: instances only one run has; `unstable`: instances
   * whose result differs under the same key.
   */
  readonly kind: "ingredient" | "added" | "removed" | "unstable";
  readonly stage: string;
  /** The ingredient with its values; for the other kinds a name that says the kind. */
  readonly change: Change;
  /** Source files behind changed code. */
  readonly sources: readonly string[];
  /** Instances that have the cause in themselves, sorted. */
  readonly direct: readonly string[];
  /** Instances that got it only through their inputs, sorted. */
  readonly through: readonly string[];
}

/** An instance that ran again to the same result, so that others did not run. */
export interface CutOff {
  readonly instance: string;
  /** Instances after it, directly or not, whose key stayed, sorted. */
  readonly spared: readonly string[];
}

/** What is compared, as far as it matters here. */
interface Compared {
  readonly both: readonly InstanceDiff[];
  readonly onlyBefore: readonly string[];
  readonly onlyNow: readonly string[];
}

type Root = Pick<Cause, "kind" | "stage" | "change" | "sources">;

/** Finds the roots of all differences, in the order of stage, ingredient and values. */
export function findCauses(compared: Compared, before: Side, now: Side): Cause[] {
  const suppliers = supplierFinder(compared, before, now);
  const roots = new Map<string, Root[]>();
  const feeds = new Map<string, string[]>();
  const stageOf = (name: string) =>
    (now.traces.get(name) ?? before.traces.get(name))?.stage ?? name.split("/")[0]!;
  for (const { instance, standing, changes, sources } of compared.both) {
    const stage = stageOf(instance);
    const own: Root[] = [];
    const from = new Set<string>();
    if (standing === "unstable") own.push(plainRoot("unstable", stage));
    for (const change of changes ?? []) {
      const found = change.ingredient.startsWith("inputs.") ? suppliers(change, instance) : [];
      for (const name of found) from.add(name);
      if (found.length > 0) continue;
      const blamed = change.ingredient === "code" ? sources : [];
      own.push({ kind: "ingredient", stage, change, sources: blamed });
    }
    roots.set(instance, own);
    feeds.set(instance, [...from]);
  }
  for (const name of compared.onlyNow) roots.set(name, [plainRoot("added", stageOf(name))]);
  for (const name of compared.onlyBefore) roots.set(name, [plainRoot("removed", stageOf(name))]);
  return groupByRoot(compared, roots, feeds);
}

function plainRoot(kind: "added" | "removed" | "unstable", stage: string): Root {
  return {
    kind,
    stage,
    change: { ingredient: kind, before: undefined, now: undefined },
    sources: [],
  };
}

/** Which differing instances an input's old or new content came from. */
function supplierFinder(
  { both, onlyBefore, onlyNow }: Compared,
  before: Side,
  now: Side,
): (change: Change, taker: string) => string[] {
  const moved = both.filter(({ standing }) => standing === "changed" || standing === "unstable")
    .map(({ instance }) => instance);
  const makersBefore = makers([...moved, ...onlyBefore], before);
  const makersNow = makers([...moved, ...onlyNow], now);
  return (change, taker) => {
    const old = makersBefore.get(change.before ?? "") ?? new Set<string>();
    const current = makersNow.get(change.now ?? "") ?? new Set<string>();
    const shared = [...old].filter((name) => current.has(name) && name !== taker);
    if (shared.length > 0) return shared;
    return [...new Set([...old, ...current])].filter((name) => name !== taker);
  };
}

/** Output digest to the instances that made it. */
function makers(names: readonly string[], side: Side): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const name of names) {
    for (const digest of outputDigests(name, side)) {
      const set = found.get(digest);
      if (set) set.add(name);
      else found.set(digest, new Set([name]));
    }
  }
  return found;
}

/** The digests of an instance's outputs. The lock has none of measured outputs, the trace does. */
function outputDigests(name: string, { lock, traces }: Side): string[] {
  const outputs = traces.get(name)?.outputs ?? lock.get(name)?.outputs ?? {};
  return Object.values(outputs).flatMap(({ sha256 }) => sha256 === undefined ? [] : [sha256]);
}

function groupByRoot(
  { both }: Compared,
  roots: ReadonlyMap<string, readonly Root[]>,
  feeds: ReadonlyMap<string, readonly string[]>,
): Cause[] {
  const causes = new Map<string, Root & { direct: Set<string>; through: Set<string> }>();
  const causeOf = (root: Root) => {
    const { kind, stage, change } = root;
    const id = JSON.stringify([stage, kind, change.ingredient, change.before, change.now]);
    let cause = causes.get(id);
    if (!cause) causes.set(id, cause = { ...root, direct: new Set(), through: new Set() });
    return cause;
  };
  for (const [instance, own] of roots) {
    for (const root of own) causeOf(root).direct.add(instance);
  }
  for (const { instance } of both) {
    for (const name of reached(feeds.get(instance) ?? [], feeds)) {
      for (const root of roots.get(name) ?? []) {
        const { direct, through } = causeOf(root);
        if (!direct.has(instance)) through.add(instance);
      }
    }
  }
  return [...causes.entries()].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([, { direct, through, ...root }]) => ({
      ...root,
      direct: [...direct].sort(),
      through: [...through].sort(),
    }))
    // What only one run has is kept apart; as a cause it counts where it reached something.
    .filter(({ kind, through }) =>
      kind === "ingredient" || kind === "unstable" || through.length > 0
    );
}

/** Everything that can be reached from some names, themselves included. */
function reached(
  start: readonly string[],
  next: ReadonlyMap<string, Iterable<string>>,
): Set<string> {
  const seen = new Set(start);
  for (const name of seen) for (const further of next.get(name) ?? []) seen.add(further);
  return seen;
}

/** Finds where a change stopped, by instance. */
export function findCutOffs(both: readonly InstanceDiff[], now: Side): CutOff[] {
  const takers = new Map<string, Set<string>>();
  for (const { instance, standing } of both) {
    if (standing !== "same") continue;
    for (const [name, value] of Object.entries(now.traces.get(instance)?.ingredients ?? {})) {
      if (!name.startsWith("inputs.")) continue;
      const set = takers.get(value);
      if (set) set.add(instance);
      else takers.set(value, new Set([instance]));
    }
  }
  const after = new Map<string, Set<string>>();
  for (const { instance, standing } of both) {
    if (standing !== "same" && standing !== "unmoved") continue;
    const found = outputDigests(instance, now).flatMap((digest) => [...takers.get(digest) ?? []]);
    after.set(instance, new Set(found));
  }
  return both.filter(({ standing }) => standing === "unmoved").map(({ instance }) => ({
    instance,
    spared: [...reached([...after.get(instance)!], after)].filter((name) => name !== instance)
      .sort(),
  }));
}

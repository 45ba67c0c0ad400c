/**
 * Compares two runs, instance by instance, and says what made those differ that do.
 *
 * Pure: a run comes as a lock's entries and, as far as the store has them, their traces. Which
 * instance took what from which is not in a trace; it is read off content digests, so of two
 * instances that wrote the same bytes either counts as their source.
 *
 * @module
 */
import { type Cause, type CutOff, findCauses, findCutOffs } from "./diff/causes.ts";
import type { InstanceDiff, MetricDelta, Side, Standing } from "./diff/sides.ts";
import { changes } from "../key/ingredients.ts";
import type { LockEntry } from "../store/lockfile.ts";

/** What two runs have and have not in common. */
export interface RunDiff {
  /** Instances of only one run, sorted. */
  readonly onlyBefore: readonly string[];
  readonly onlyNow: readonly string[];
  /** Instances of both, sorted by name. */
  readonly both: readonly InstanceDiff[];
  readonly causes: readonly Cause[];
  readonly cutOffs: readonly CutOff[];
  /** Instances with another key for which the store lacks a trace: why is not known. */
  readonly unexplained: readonly string[];
}

/** Compares two runs. */
export function diffRuns(before: Side, now: Side): RunDiff {
  const names = (side: Side) => [...side.lock.keys()].sort();
  const both = names(before).filter((name) => now.lock.has(name))
    .map((name) => diffInstance(name, before, now));
  const onlyBefore = names(before).filter((name) => !now.lock.has(name));
  const onlyNow = names(now).filter((name) => !before.lock.has(name));
  const causes = findCauses({ both, onlyBefore, onlyNow }, before, now);
  const explained = new Set(causes.flatMap(({ direct, through }) => [...direct, ...through]));
  return {
    onlyBefore,
    onlyNow,
    both,
    causes,
    cutOffs: findCutOffs(both, now),
    unexplained: both.filter(({ instance, standing, changes }) =>
      ["changed", "unmoved", "uncompared"].includes(standing) && changes?.length !== 0 &&
      !explained.has(instance)
    ).map(({ instance }) => instance),
  };
}

function diffInstance(instance: string, before: Side, now: Side): InstanceDiff {
  const [old, current] = [before.lock.get(instance)!, now.lock.get(instance)!];
  const outputs = differingOutputs(old, current);
  const [oldTrace, trace] = [before.traces.get(instance), now.traces.get(instance)];
  const [oldKey, key] = [old.key ?? oldTrace?.key, current.key ?? trace?.key];
  // A lock has no key of what is measured.
  const sameKey = oldKey === undefined || key === undefined ? undefined : oldKey === key;
  const moved = outputs.length > 0;
  const found = oldTrace && trace ? changes(oldTrace.ingredients, trace.ingredients) : undefined;
  const code = found?.some(({ ingredient }) => ingredient === "code") ?? false;
  return {
    instance,
    standing: standingOf(current, { sameKey, moved }),
    outputs,
    metrics: metricDeltas(old.metrics, current.metrics),
    changes: sameKey ?? !moved ? [] : found,
    sources: code ? changes(oldTrace!.sources, trace!.sources).map((one) => one.ingredient) : [],
  };
}

function standingOf(
  now: LockEntry,
  { sameKey, moved }: { sameKey: boolean | undefined; moved: boolean },
): Standing {
  if (sameKey) return moved ? "unstable" : "same";
  if (moved) return "changed";
  const outputs = Object.values(now.outputs);
  if (outputs.every(({ exactness }) => exactness === "measured")) return "uncompared";
  return sameKey === undefined ? "same" : "unmoved";
}

function differingOutputs(before: LockEntry, now: LockEntry): string[] {
  const names = new Set([...Object.keys(before.outputs), ...Object.keys(now.outputs)]);
  return [...names].sort().filter((name) => {
    const [a, b] = [before.outputs[name], now.outputs[name]];
    return a?.exactness !== b?.exactness || a?.sha256 !== b?.sha256;
  });
}

type Metrics = LockEntry["metrics"];

function metricDeltas(before: Metrics, now: Metrics): MetricDelta[] {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].sort().filter((name) => before[name] !== now[name]).map((metric) => {
    const [a, b] = [before[metric], now[metric]];
    const difference = a === undefined || b === undefined ? undefined : b - a;
    return { metric, before: a, now: b, difference };
  });
}

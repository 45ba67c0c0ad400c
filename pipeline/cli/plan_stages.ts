/**
 * A plan summed up by stage: how many instances run, and for which reason they have in common.
 *
 * @module
 */
import { type Instance, upstream } from "../plan/graph.ts";
import type { Decision } from "../plan/plan.ts";

/** What becomes of a stage's instances. */
export interface StagePlan {
  readonly name: string;
  readonly cached: number;
  readonly run: number;
  readonly wait: number;
  /** Wall-clock seconds; `null` if no earlier run shows any of them. */
  readonly seconds: number | null;
  /** Reasons and how many instances have each, the most frequent first. */
  readonly reasons: readonly (readonly [reason: string, instances: number])[];
  /** Axes over which those that run or wait vary, with how many values. */
  readonly axes: readonly (readonly [axis: string, values: number])[];
}

/** How a plan is summed up. */
export interface StagePlanOptions {
  readonly atOnce: (instance: Instance) => number;
  readonly secondsOf: (instance: Instance) => number | undefined;
}

/** Sums up a plan by stage, in the order of the graph. */
export function byStage(
  decisions: ReadonlyMap<Instance, Decision>,
  options: StagePlanOptions,
): StagePlan[] {
  const stages = Map.groupBy(decisions, ([{ node }]) => node.name);
  return [...stages].map(([name, all]) => {
    const open = all.filter(([, { action }]) => action !== "cached");
    const run = open.filter(([, { action }]) => action === "run").length;
    const instances = open.map(([instance]) => instance);
    return {
      name,
      cached: all.length - open.length,
      run,
      wait: open.length - run,
      seconds: secondsOn(instances, options),
      reasons: reasonsOf(open, decisions),
      axes: axesOf(instances),
    };
  });
}

function secondsOn(instances: readonly Instance[], o: StagePlanOptions): number | null {
  const known = instances.flatMap((instance) => o.secondsOf(instance) ?? []);
  if (known.length === 0) return null;
  const sum = known.reduce((sum, seconds) => sum + seconds, 0);
  return instances[0]!.node.stage.alone
    ? sum
    : Math.max(sum / Math.min(o.atOnce(instances[0]!), known.length), ...known);
}

function reasonsOf(
  open: readonly (readonly [Instance, Decision])[],
  decisions: ReadonlyMap<Instance, Decision>,
): [string, number][] {
  // By the ingredient that differs: its values may differ by instance, as an input's digest does.
  const groups = new Map<string, string[]>();
  for (const [instance, decision] of open) {
    if (decision.action === "cached") continue;
    const change = decision.action === "run" ? decision.change : undefined;
    const text = decision.action === "run" ? decision.reason : afterStages(instance, decisions);
    const group = change?.ingredient ?? text;
    groups.set(group, [...groups.get(group) ?? [], text]);
  }
  return [...groups].map(([group, texts]): [string, number] => [
    texts.every((text) => text === texts[0]) ? texts[0]! : `${group} differs`,
    texts.length,
  ]).sort(([, a], [, b]) => b - a);
}

function afterStages(instance: Instance, decisions: ReadonlyMap<Instance, Decision>): string {
  const pending = [...upstream(instance)].filter((from) =>
    decisions.get(from)?.action !== "cached"
  );
  return `after ${[...new Set(pending.map(({ node }) => node.name))].join(", ")}`;
}

function axesOf(instances: readonly Instance[]): [string, number][] {
  const axes = instances[0]?.node.each ?? [];
  return axes.map((axis): [string, number] => [
    axis,
    new Set(instances.map(({ at }) => at[axis])).size,
  ]).filter(([, values]) => values > 1);
}

/**
 * The order in which axes and their values are shown.
 *
 * @module
 */
import type { Axes } from "../spec/axes.ts";
import type { At } from "./table.ts";

/** Names of axes in display order: as described, then by name, the replicates' axis last. */
export function axesInOrder(names: Iterable<string>, { axes, seeds }: Order): string[] {
  const described = axes.map(([name]) => name);
  const rank = (name: string) =>
    name === seeds
      ? Infinity
      : described.includes(name)
      ? described.indexOf(name)
      : described.length;
  return [...new Set(names)].sort((a, b) => Math.sign(rank(a) - rank(b)) || compareText(a, b));
}

/** What an experiment says of the order of things. */
export interface Order {
  readonly axes: Axes;
  /** The axis of replicates. */
  readonly seeds: string;
}

/** The values of an axis that an experiment describes, in order. */
export function describedValues({ axes }: Pick<Order, "axes">, name: string): string[] {
  return axes.find(([axis]) => axis === name)?.[1].values.map(([value]) => value) ?? [];
}

/** Compares values of an axis: as listed, then numbers by size, then texts by code unit. */
export function compareValues(listed: readonly string[]): (a: string, b: string) => number {
  const ranks = new Map(listed.map((value, rank) => [value, rank]));
  return (a, b) => {
    const [first, second] = [ranks.get(a) ?? ranks.size, ranks.get(b) ?? ranks.size];
    return first - second || compareNumbers(a, b) || compareText(a, b);
  };
}

/** Compares coordinates axis by axis, by each axis' listed values. */
export function comparePlaces(
  axes: readonly string[],
  listed: (axis: string) => readonly string[],
): (a: At, b: At) => number {
  const compare = axes.map((name) => [name, compareValues(listed(name))] as const);
  return (a, b) => {
    for (const [name, byValue] of compare) {
      const sign = byValue(a[name] ?? "", b[name] ?? "");
      if (sign !== 0) return sign;
    }
    return 0;
  };
}

/** Numbers before texts. */
function compareNumbers(a: string, b: string): number {
  const [first, second] = [a, b].map((text) => text === "" ? NaN : Number(text));
  const texts = Number(Number.isNaN(first)) - Number(Number.isNaN(second));
  return texts || Math.sign(first! - second!) || 0;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

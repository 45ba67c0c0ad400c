/**
 * Seeded choices of documents that keep the classes' shares.
 *
 * @module
 */
import { mix32, mixPath } from "../models/random.ts";

/** Names a choice: the same seed and stream choose the same documents. */
export interface Draw {
  readonly seed: number;
  readonly stream: string;
}

/**
 * Splits `total` over groups in proportion to `weights`: each gets the whole part of its quota,
 * and the largest remainders one more, the first of equals first (Hamilton's method).
 */
export function apportion(total: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((a, b) => a + b, 0);
  if (sum === 0) return weights.map(() => 0);
  const quotas = weights.map((weight) => total * weight / sum);
  const parts = quotas.map(Math.floor);
  const left = total - parts.reduce((a, b) => a + b, 0);
  const byRemainder = quotas.map((_, i) => i).sort((a, b) =>
    (quotas[b]! - parts[b]!) - (quotas[a]! - parts[a]!) || a - b
  );
  for (const i of byRemainder.slice(0, left)) parts[i]! += 1;
  return parts;
}

/**
 * Chooses at most `size` of the documents with the given labels, each class in proportion.
 *
 * @returns For each document, whether it is chosen.
 */
export function stratifiedSubset(labels: readonly number[], size: number, draw: Draw): boolean[] {
  const chosen = new Array<boolean>(labels.length).fill(false);
  const groups = shuffledGroups(labels, draw);
  const parts = apportion(Math.min(size, labels.length), groups.map((group) => group.length));
  for (const [i, group] of groups.entries()) {
    for (const document of group.slice(0, parts[i]!)) chosen[document] = true;
  }
  return chosen;
}

/**
 * Deals the documents with the given labels out to parts, each class in proportion to `shares`.
 *
 * @returns For each document, the index of its part.
 */
export function stratifiedParts(
  labels: readonly number[],
  shares: readonly number[],
  draw: Draw,
): number[] {
  const part = new Array<number>(labels.length).fill(0);
  for (const group of shuffledGroups(labels, draw)) {
    let at = 0;
    for (const [i, size] of apportion(group.length, shares).entries()) {
      for (const document of group.slice(at, at + size)) part[document] = i;
      at += size;
    }
  }
  return part;
}

/** Documents by class, in order of class, each class in drawn order. */
function shuffledGroups(labels: readonly number[], { seed, stream }: Draw): number[][] {
  const key = mixPath(seed, "select", stream);
  const groups: number[][] = [];
  for (const [document, label] of labels.entries()) (groups[label] ??= []).push(document);
  // Mixing is a bijection, so that no two documents of fewer than 2³² share a priority.
  const priority = (document: number) => mix32(mix32(document ^ key) ^ key);
  return Array.from(groups, (group) => group ?? [])
    .map((group) => group.sort((a, b) => priority(a) - priority(b)));
}

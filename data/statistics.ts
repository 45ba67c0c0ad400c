/**
 * What is worth knowing of a corpus before numbers are measured on it.
 *
 * @module
 */
import { GrowingArray } from "./growing.ts";
import { bytesOf, textOf } from "./text_bytes.ts";

/** Lengths in tokens, before clipping. */
export interface LengthStatistics {
  readonly mean: number;
  readonly median: number;
  readonly p90: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
  /** Share of documents that lost their tail. */
  readonly clippedShare: number;
}

/**
 * Summarises document lengths. Percentiles interpolate linearly between order statistics, as
 * NumPy's default does.
 */
export function lengthStatistics(lengths: Uint32Array, clipped: number): LengthStatistics {
  const sorted = lengths.slice().sort();
  const count = sorted.length;
  let sum = 0;
  for (const length of sorted) sum += length;
  const percentile = (percent: number): number => {
    if (count === 0) return 0;
    const position = (count - 1) * percent;
    const below = Math.floor(position / 100);
    const low = sorted[below]!;
    const high = sorted[Math.min(below + 1, count - 1)]!;
    return low + (high - low) * (position % 100) / 100;
  };
  return {
    mean: count === 0 ? 0 : sum / count,
    median: percentile(50),
    p90: percentile(90),
    p95: percentile(95),
    p99: percentile(99),
    max: sorted[count - 1] ?? 0,
    clippedShare: count === 0 ? 0 : clipped / count,
  };
}

/** Counts texts that occur, character for character, in more than one split. */
export class Duplicates {
  readonly #hashes = new Map<string, GrowingArray>();

  /** A split's texts: for each a hash of 64 bits, as two values of 32, that no other text has. */
  hashes(split: string): GrowingArray {
    let hashes = this.#hashes.get(split);
    if (hashes === undefined) this.#hashes.set(split, hashes = new GrowingArray());
    return hashes;
  }

  /** For `a/b`, how many documents of split b have a text that split a has too. */
  across(splits: readonly string[]): Record<string, number> {
    const sorted = splits.map((split) =>
      new BigUint64Array(this.hashes(split).values().slice().buffer).sort()
    );
    const counts: Record<string, number> = {};
    for (const [i, a] of splits.entries()) {
      for (const [j, b] of splits.entries()) {
        if (i < j) counts[`${a}/${b}`] = occurring(sorted[j]!, sorted[i]!);
      }
    }
    return counts;
  }
}

/** How many of the values occur among others; both sorted. */
function occurring(values: BigUint64Array, others: BigUint64Array): number {
  let count = 0;
  let at = 0;
  for (const value of values) {
    while (at < others.length && others[at]! < value) at += 1;
    if (others[at] === value) count += 1;
  }
  return count;
}

/** Documents whose text names a class in square brackets, as arXiv's stamps do: `[cs.DS]`. */
export interface StampStatistics {
  /** Naming the document's own class: the label leaks. */
  readonly own: number;
  /** Naming another class. */
  readonly other: number;
}

const bracketOpen = 0x5b, bracketClose = 0x5d;

/** Gives a function that finds which stamps a document bears. */
export function stampFinder(
  classes: readonly string[],
): (document: { readonly label: number; readonly text: Uint8Array }) => StampStatistics {
  const indexes = new Map(classes.map((name, i) => [name, i]));
  const longest = Math.max(0, ...classes.map((name) => bytesOf(name).length));
  /** What may follow a bracket: most that do not are a citation's. */
  const first = new Set(classes.map((name) => bytesOf(name)[0] ?? bracketClose));
  return ({ label, text }) => {
    let own = 0;
    let other = 0;
    let at = text.indexOf(bracketOpen);
    for (; at >= 0; at = text.indexOf(bracketOpen, at + 1)) {
      if (!first.has(text[at + 1]!)) continue;
      const named = text.subarray(at + 1, at + 2 + longest);
      const end = named.indexOf(bracketClose);
      const found = end < 0 ? undefined : indexes.get(textOf(named.subarray(0, end)));
      if (found === undefined) continue;
      if (found === label) own = 1;
      else other = 1;
    }
    return { own, other };
  };
}

/**
 * What is worth knowing of a corpus before numbers are measured on it.
 *
 * @module
 */
import { mix32 } from "../models/random.ts";
import { TextBytes } from "./text_bytes.ts";

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

/**
 * A text's length and 96 bits of hash, as a string of 16-bit units: two of a million different
 * texts share one with a chance of 10⁻¹⁷. Half of a tokenizer's time on short texts would go into
 * starting and ending cryptographic hashes.
 *
 * @param bytes Changed beyond their end, up to a multiple of four.
 */
function digestOf(bytes: Uint8Array<ArrayBuffer>): string {
  const { length } = bytes;
  const count = (length + 3) >> 2;
  new Uint8Array(bytes.buffer).fill(0, length, count * 4);
  const values = new Uint32Array(bytes.buffer, 0, count);
  let a = mix32(length);
  let b = mix32(a ^ 0x9e3779b9);
  let c = mix32(b ^ 0x85ebca6b);
  for (let i = 0; i < count; i++) {
    const value = values[i]!;
    a = Math.imul((a << 5) ^ (a >>> 27) ^ value, 0x7feb352d);
    b = Math.imul((b << 13) ^ (b >>> 19) ^ value, 0x846ca68b);
    c = Math.imul(((c << 19) ^ (c >>> 13)) + value, 0x2c1b3c6d);
  }
  a = mix32(a);
  b = mix32(b);
  c = mix32(c);
  return String.fromCharCode(
    ...[length >>> 16, length & 0xffff],
    ...[a >>> 16, a & 0xffff, b >>> 16, b & 0xffff, c >>> 16, c & 0xffff],
  );
}

/** Counts texts that occur, character for character, in more than one split. */
export class Duplicates {
  readonly #bytes = new TextBytes();
  readonly #texts = new Map<string, Map<string, number>>();

  add(split: string, text: string): void {
    const digest = digestOf(this.#bytes.encode(text, false));
    let texts = this.#texts.get(split);
    if (texts === undefined) this.#texts.set(split, texts = new Map());
    texts.set(digest, (texts.get(digest) ?? 0) + 1);
  }

  /** For `a/b`, how many documents of split b have a text that split a has too. */
  across(splits: readonly string[]): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const [i, a] of splits.entries()) {
      for (const b of splits.slice(i + 1)) {
        let shared = 0;
        for (const [digest, times] of this.#texts.get(b) ?? []) {
          if (this.#texts.get(a)?.has(digest)) shared += times;
        }
        counts[`${a}/${b}`] = shared;
      }
    }
    return counts;
  }
}

/** Documents whose text names a class in square brackets, as arXiv's stamps do: `[cs.DS]`. */
export interface StampStatistics {
  /** Naming the document's own class: the label leaks. */
  readonly own: number;
  /** Naming another class. */
  readonly other: number;
}

/** Gives a function that finds which stamps a document bears. */
export function stampFinder(
  classes: readonly string[],
): (document: { readonly label: number; readonly text: string }) => StampStatistics {
  const indexes = new Map(classes.map((name, i) => [name, i]));
  return ({ label, text }) => {
    let own = 0;
    let other = 0;
    for (let at = text.indexOf("["); at >= 0; at = text.indexOf("[", at + 1)) {
      const end = text.indexOf("]", at);
      if (end < 0) break;
      // No class name is that long, and a bracket may stay open for a whole text.
      const found = end - at > 64 ? undefined : indexes.get(text.slice(at + 1, end));
      if (found === undefined) continue;
      if (found === label) own = 1;
      else other = 1;
    }
    return { own, other };
  };
}

/**
 * Words, their vocabulary and their ids.
 *
 * @module
 */

/** Id of padding in a classification corpus. */
export const paddingId = 0;
/** Id of every word outside the vocabulary. */
export const unknownId = 1;
/** Id of the most frequent word. */
export const firstWordId = 2;

/**
 * Calls `visit` with every whitespace-separated word of a text, in order.
 *
 * Whitespace is what Python's `str.split()` takes for it, since the papers' code is Python: with
 * the control characters U+001C to U+001F and U+0085, and without U+FEFF, unlike `\s` here.
 */
export function eachWord(text: string, visit: (word: string) => void): void {
  let start = -1;
  for (let i = 0; i < text.length; i++) {
    if (isSpace(text.charCodeAt(i))) {
      if (start >= 0) visit(text.slice(start, i));
      start = -1;
    } else if (start < 0) {
      start = i;
    }
  }
  if (start >= 0) visit(text.slice(start));
}

function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 9 && code <= 13) || (code >= 28 && code <= 31);
  return code === 0x85 || code === 0xa0 || code === 0x1680 || (code >= 0x2000 && code <= 0x200a) ||
    code === 0x2028 || code === 0x2029 || code === 0x202f || code === 0x205f || code === 0x3000;
}

/** An append-only array of unsigned 32-bit integers. */
export class GrowingArray {
  #values = new Uint32Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = new Uint32Array(this.#values.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.#length++] = value;
  }

  at(index: number): number {
    return this.#values[index]!;
  }

  increment(index: number): void {
    this.#values[index]! += 1;
  }

  /** What was pushed, as a view. */
  values(): Uint32Array {
    return this.#values.subarray(0, this.#length);
  }
}

const chunkLength = 1 << 20;

/** An append-only array for many millions of integers: it grows without copying what it holds. */
export class ChunkedArray {
  readonly #chunks: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    const at = this.#length % chunkLength;
    if (at === 0) this.#chunks.push(new Uint32Array(chunkLength));
    this.#chunks[this.#chunks.length - 1]![at] = value;
    this.#length += 1;
  }

  /** Calls `visit` with every value, in order, and forgets it. */
  drain(visit: (value: number, index: number) => void): void {
    for (let start = 0; start < this.#length; start += chunkLength) {
      const chunk = this.#chunks.shift()!;
      const count = Math.min(chunkLength, this.#length - start);
      for (let i = 0; i < count; i++) visit(chunk[i]!, start + i);
    }
    this.#length = 0;
  }
}

/** Which words get an id. */
export interface VocabularyLimits {
  /** Fewest occurrences of a word. */
  readonly minFrequency: number;
  /** Most ids, padding and unknown included. */
  readonly maxSize: number;
}

/** A finished vocabulary. */
export interface Vocabulary {
  /** The word with id `i + firstWordId`. */
  readonly words: readonly string[];
  /** Final id of every provisional number. */
  readonly ids: Uint32Array;
}

/**
 * Numbers words as they come and counts them, so that a corpus needs to be read once: documents
 * are kept as provisional numbers until all words are counted.
 */
export class WordNumbers {
  readonly #numbers = new Map<string, number>();
  readonly #words: string[] = [];
  readonly #counts = new GrowingArray();
  /** When each number was first counted, from 1; 0 if never. */
  readonly #ranks = new GrowingArray();
  #counted = 0;

  /** Number of a word; with `count`, one more occurrence of it. */
  add(word: string, count: boolean): number {
    let number = this.#numbers.get(word);
    if (number === undefined) {
      number = this.#words.length;
      // A long slice would keep the whole document it was cut from in memory.
      const own = word.length < 13 ? word : ` ${word}`.slice(1);
      this.#numbers.set(own, number);
      this.#words.push(own);
      this.#counts.push(0);
      this.#ranks.push(0);
    }
    if (count) {
      if (this.#counts.at(number) === 0) {
        this.#counted += 1;
        this.#ranks.values()[number] = this.#counted;
      }
      this.#counts.increment(number);
    }
    return number;
  }

  /** Gives the most frequent words ids from 2 on; of equally frequent ones the first counted. */
  vocabulary({ minFrequency, maxSize }: VocabularyLimits): Vocabulary {
    const counts = this.#counts.values();
    const ranks = this.#ranks.values();
    const candidates: number[] = [];
    const fewest = Math.max(1, minFrequency);
    for (let i = 0; i < counts.length; i++) if (counts[i]! >= fewest) candidates.push(i);
    candidates.sort((a, b) => counts[b]! - counts[a]! || ranks[a]! - ranks[b]!);
    candidates.length = Math.min(candidates.length, Math.max(0, maxSize - firstWordId));
    const ids = new Uint32Array(counts.length).fill(unknownId);
    for (const [i, number] of candidates.entries()) ids[number] = i + firstWordId;
    return { words: candidates.map((number) => this.#words[number]!), ids };
  }
}

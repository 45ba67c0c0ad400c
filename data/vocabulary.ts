/**
 * Counting words and giving them ids.
 *
 * @module
 */
import { mix32 } from "./counter.ts";
import { GrowingArray } from "./growing.ts";
import { firstWordId, unknownId } from "./words.ts";

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
 *
 * A hash table over UTF-16 code units, probed linearly. A `Map` would need every occurrence cut
 * out of its text as a string: four fifths of the time, and several times the memory.
 */
export class WordNumbers {
  /** All words' code units, one word after another. */
  #units = new Uint16Array(1 << 16);
  /** Where each word starts in the units, and last where the last one ends. */
  readonly #starts = new GrowingArray();
  readonly #hashes = new GrowingArray();
  readonly #counts = new GrowingArray();
  /** When each word was first counted, from 1; 0 if never. */
  readonly #ranks = new GrowingArray();
  /** Word number + 1 by hash, 0 where free; never more than half full. */
  #slots = new Uint32Array(1 << 12);
  #counted = 0;

  constructor() {
    this.#starts.push(0);
  }

  /** Different words so far. */
  get size(): number {
    return this.#hashes.length;
  }

  /**
   * Number of the word from `start` to `end` of a text, from 0 in order of appearance; with
   * `count`, one more occurrence of it.
   */
  add(
    text: string,
    { start, end, count }: {
      readonly start: number;
      readonly end: number;
      readonly count: boolean;
    },
  ): number {
    let hash = 0x811c9dc5;
    for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
    hash = mix32(hash);
    const mask = this.#slots.length - 1;
    let slot = hash & mask;
    let number = -1;
    for (let found = this.#slots[slot]!; found > 0; found = this.#slots[slot]!) {
      if (this.#hashes.at(found - 1) === hash && this.#is(found - 1, text, start, end)) {
        number = found - 1;
        break;
      }
      slot = (slot + 1) & mask;
    }
    if (number < 0) {
      number = this.size;
      this.#slots[slot] = number + 1;
      this.#keep(text, start, end);
      this.#hashes.push(hash);
      this.#counts.push(0);
      this.#ranks.push(0);
      if (this.size * 2 > this.#slots.length) this.#rehash();
    }
    if (count) {
      if (this.#counts.at(number) === 0) {
        this.#counted += 1;
        this.#ranks.set(number, this.#counted);
      }
      this.#counts.set(number, this.#counts.at(number) + 1);
    }
    return number;
  }

  #is(number: number, text: string, start: number, end: number): boolean {
    const from = this.#starts.at(number);
    if (this.#starts.at(number + 1) - from !== end - start) return false;
    for (let i = start; i < end; i++) {
      if (this.#units[from + i - start] !== text.charCodeAt(i)) return false;
    }
    return true;
  }

  #keep(text: string, start: number, end: number): void {
    const from = this.#starts.at(this.size);
    const to = from + end - start;
    if (to > this.#units.length) {
      const larger = new Uint16Array(Math.max(to, this.#units.length * 2));
      larger.set(this.#units);
      this.#units = larger;
    }
    for (let i = start; i < end; i++) this.#units[from + i - start] = text.charCodeAt(i);
    this.#starts.push(to);
  }

  #rehash(): void {
    const slots = new Uint32Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let number = 0; number < this.size; number++) {
      let slot = this.#hashes.at(number) & mask;
      while (slots[slot]! > 0) slot = (slot + 1) & mask;
      slots[slot] = number + 1;
    }
    this.#slots = slots;
  }

  #word(number: number): string {
    const units = this.#units.subarray(this.#starts.at(number), this.#starts.at(number + 1));
    let word = "";
    // In pieces: a call takes only so many arguments.
    for (let i = 0; i < units.length; i += 4096) {
      word += String.fromCharCode(...units.subarray(i, i + 4096));
    }
    return word;
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
    return { words: candidates.map((number) => this.#word(number)), ids };
  }
}

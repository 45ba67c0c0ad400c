/**
 * Counting words and giving them ids.
 *
 * @module
 */
import type { ChunkedArray } from "./growing.ts";
import { TextBytes, textOf } from "./text_bytes.ts";
import { byteKinds, findWords, firstWordId, spans, unknownId } from "./words.ts";

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

/** What to do with a text's words. */
export interface AddOptions {
  readonly lowercase: boolean;
  /** Whether they count towards the words' frequencies. */
  readonly count: boolean;
  /** How many of them, from the start, are written to `into`; all are counted. */
  readonly limit: number;
  /** Receives their provisional numbers. */
  readonly into: ChunkedArray;
}

/** A word's record: where its bytes start, how many they are, its count and its rank. */
const recordSize = 4;
/** Words of a text that are found before they are numbered. */
const wordsAtOnce = 1 << 12;
/** Spreads hashes over the table by their upper bits (Fibonacci hashing). */
const spread = 0x9e3779b1;

/**
 * Numbers words as they come and counts them, so that a corpus needs to be read once: documents
 * are kept as provisional numbers until all words are counted.
 *
 * A hash table over UTF-8 bytes, probed linearly, words compared byte by byte. A `Map` would need
 * every occurrence cut out of its text as a string: most of the time, and several times the memory.
 */
export class WordNumbers {
  readonly #text = new TextBytes();
  readonly #kinds = { folded: byteKinds(true), plain: byteKinds(false) };
  /** All words' bytes, one word after another. */
  #bytes = new Uint8Array(1 << 16);
  #bytesLength = 0;
  /** Per word {@linkcode recordSize} values; the rank says when it was first counted, 0 if never. */
  #records = new Uint32Array(recordSize << 10);
  /** Per slot a hash and a word number + 1, which is 0 where it is free; at most half are taken. */
  #slots = new Int32Array(2 << 12);
  #size = 0;
  #counted = 0;
  /** Words of the text at hand, and their numbers. */
  readonly #found = spans(wordsAtOnce);
  readonly #kept = new Uint32Array(wordsAtOnce);

  /** Different words so far. */
  get size(): number {
    return this.#size;
  }

  /**
   * Numbers the words of a text, from 0 in order of appearance.
   *
   * @returns How many words it has.
   */
  add(text: string, { lowercase, count, limit, into }: AddOptions): number {
    const bytes = this.#text.encode(text, lowercase);
    const kinds = lowercase ? this.#kinds.folded : this.#kinds.plain;
    const found = this.#found;
    let words = 0;
    for (found.next = 0; found.next < bytes.length; words += found.words) {
      findWords(bytes, found, kinds);
      this.#number(bytes, found.words);
      if (count) this.#count(found.words);
      if (words < limit) into.append(this.#kept.subarray(0, Math.min(found.words, limit - words)));
    }
    return words;
  }

  /** Numbers the first `words` words found in a text. */
  #number(bytes: Uint8Array, words: number): void {
    const { starts, ends, hashes } = this.#found;
    const kept = this.#kept;
    let slots = this.#slots;
    for (let word = 0; word < words; word++) {
      const hash = hashes[word]!;
      const start = starts[word]!;
      const end = ends[word]!;
      let slot = slotOf(hash, slots.length);
      let next = slots[slot + 1]!;
      while (next !== 0) {
        if (slots[slot] === hash && this.#is(next - 1, bytes, start, end)) break;
        slot = (slot + 2) & (slots.length - 1);
        next = slots[slot + 1]!;
      }
      if (next !== 0) {
        kept[word] = next - 1;
      } else {
        kept[word] = this.#keep(bytes.subarray(start, end), { hash, slot });
        slots = this.#slots;
      }
    }
  }

  #is(number: number, bytes: Uint8Array, start: number, end: number): boolean {
    const record = number * recordSize;
    if (this.#records[record + 1] !== end - start) return false;
    const known = this.#bytes;
    let from = this.#records[record]!;
    for (let i = start; i < end; i++, from++) if (known[from] !== bytes[i]) return false;
    return true;
  }

  /** Counts the words last numbered. */
  #count(words: number): void {
    const kept = this.#kept;
    const records = this.#records;
    let counted = this.#counted;
    for (let word = 0; word < words; word++) {
      const record = kept[word]! * recordSize;
      if (records[record + 2] === 0) records[record + 3] = ++counted;
      records[record + 2]! += 1;
    }
    this.#counted = counted;
  }

  /** Gives a new word its number. */
  #keep(word: Uint8Array, { hash, slot }: { hash: number; slot: number }): number {
    const number = this.#size++;
    this.#slots[slot] = hash;
    this.#slots[slot + 1] = number + 1;
    const start = this.#bytesLength;
    this.#bytesLength += word.length;
    this.#bytes = roomFor(this.#bytes, this.#bytesLength);
    this.#bytes.set(word, start);
    const record = number * recordSize;
    this.#records = roomFor(this.#records, record + recordSize);
    this.#records[record] = start;
    this.#records[record + 1] = word.length;
    if (this.#size * 4 > this.#slots.length) this.#rehash();
    return number;
  }

  #rehash(): void {
    const old = this.#slots;
    const slots = new Int32Array(old.length * 2);
    const mask = slots.length - 1;
    for (let i = 0; i < old.length; i += 2) {
      if (old[i + 1] === 0) continue;
      let slot = slotOf(old[i]!, slots.length);
      while (slots[slot + 1]! > 0) slot = (slot + 2) & mask;
      slots[slot] = old[i]!;
      slots[slot + 1] = old[i + 1]!;
    }
    this.#slots = slots;
  }

  #word(number: number): string {
    const start = this.#records[number * recordSize]!;
    const length = this.#records[number * recordSize + 1]!;
    return textOf(this.#bytes.subarray(start, start + length));
  }

  /** Gives the most frequent words ids from 2 on; of equally frequent ones the first counted. */
  vocabulary({ minFrequency, maxSize }: VocabularyLimits): Vocabulary {
    const records = this.#records;
    const count = (number: number) => records[number * recordSize + 2]!;
    const rank = (number: number) => records[number * recordSize + 3]!;
    const candidates: number[] = [];
    const min = Math.max(1, minFrequency);
    for (let i = 0; i < this.#size; i++) if (count(i) >= min) candidates.push(i);
    candidates.sort((a, b) => count(b) - count(a) || rank(a) - rank(b));
    candidates.length = Math.min(candidates.length, Math.max(0, maxSize - firstWordId));
    const ids = new Uint32Array(this.#size).fill(unknownId);
    for (const [i, number] of candidates.entries()) ids[number] = i + firstWordId;
    return { words: candidates.map((number) => this.#word(number)), ids };
  }
}

/** Where in a table of `length` values, a power of two, the search for a hash starts. */
function slotOf(hash: number, length: number): number {
  return (Math.imul(hash, spread) >>> Math.clz32(length - 1)) & ~1;
}

function roomFor<T extends Uint8Array<ArrayBuffer> | Uint32Array<ArrayBuffer>>(
  array: T,
  length: number,
): T {
  if (length <= array.length) return array;
  const larger = new (array.constructor as new (length: number) => T)(
    Math.max(length, array.length * 2),
  );
  larger.set(array);
  return larger;
}

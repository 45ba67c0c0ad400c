/**
 * Counting words and giving them ids.
 *
 * @module
 */
import code from "./compiled/words.wasm" with { type: "bytes" };
import { ChunkedArray } from "./growing.ts";
import { DataError } from "./lines.ts";
import { bytesOf, textOf } from "./text_bytes.ts";
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

/** What to do with a text's words. */
export interface AddOptions {
  /** Whether they count towards the words' frequencies. */
  readonly count: boolean;
  /** How many of them, from the start, are written to `into`; all are counted. */
  readonly limit: number;
  /** Receives their provisional numbers. */
  readonly into: ChunkedArray;
}

/** The functions of `assembly/words.ts`; addresses in bytes. */
interface Functions {
  textAddress(length: number): number;
  numbersAddress(): number;
  hashesAddress(): number;
  slotsAddress(): number;
  slotCount(): number;
  wordCount(): number;
  hashText(length: number): void;
  begin(length: number): void;
  next(count: boolean, fold: boolean): number;
  more(): number;
}

/** Where in a word's record, which starts with its number, its other values are; then its bytes. */
const countAt = 1, rankAt = 2, lengthAt = 3, wideAt = 4, recordValues = 6;
const newline = 0x0a;

/**
 * Numbers words as they come and counts them, so that a corpus needs to be read once: documents
 * are kept as provisional numbers until all words are counted.
 *
 * The table is in a WebAssembly memory, into which a text's bytes are copied. There only A to Z are
 * lower-cased; a word with another letter keeps a number for each way in which it is written until the
 * end. Only then are these few lower-cased, each once, and made one.
 */
export class WordNumbers {
  readonly #lowercase: boolean;
  readonly #memory = new WebAssembly.Memory({ initial: 0 });
  readonly #table: Functions;
  #bytes: Uint8Array = new Uint8Array();
  #values: Uint32Array = new Uint32Array();
  /** Bytes of the text at hand. */
  #length = 0;

  constructor({ lowercase }: { readonly lowercase: boolean }) {
    this.#lowercase = lowercase;
    const module = new WebAssembly.Module(code);
    const { exports } = new WebAssembly.Instance(module, { env: { memory: this.#memory } });
    this.#table = exports as unknown as Functions;
  }

  /** Different words so far, before those outside ASCII are lower-cased. */
  get size(): number {
    return this.#table.wordCount();
  }

  /** Takes a text, in UTF-8, to hash and to number. */
  read(text: Uint8Array): void {
    const at = this.#within(() => this.#table.textAddress(text.length));
    this.#bytes.set(text, at);
    this.#length = text.length;
  }

  /**
   * 128 bits of hash of the text read, before its words are numbered: two of a million different
   * texts share one with a chance of 10⁻²⁷. Half of a tokenizer's time on short texts would go into
   * starting and ending cryptographic hashes.
   */
  hash(): string {
    this.#table.hashText(this.#length);
    const at = this.#table.hashesAddress();
    return String.fromCharCode(...new Uint16Array(this.#memory.buffer, at, 8));
  }

  /**
   * Numbers the words of the text read, from 0 in order of appearance.
   *
   * @returns How many it has.
   */
  add({ count, limit, into }: AddOptions): number {
    const table = this.#table;
    const at = table.numbersAddress() / 4;
    let words = 0;
    table.begin(this.#length);
    do {
      const found = this.#within(() => table.next(count, this.#lowercase));
      if (words < limit) {
        into.append(this.#values.subarray(at, at + Math.min(found, limit - words)));
      }
      words += found;
    } while (table.more());
    return words;
  }

  /** Runs what may enlarge the memory, which makes its views useless. */
  #within<T>(run: () => T): T {
    try {
      return run();
    } catch (cause) {
      if (!(cause instanceof WebAssembly.RuntimeError)) throw cause;
      throw new DataError(
        "Cannot tokenise: the different words take more than the 4 GB of memory that they may have",
        { cause },
      );
    } finally {
      if (this.#bytes.buffer !== this.#memory.buffer) {
        this.#bytes = new Uint8Array(this.#memory.buffer);
        this.#values = new Uint32Array(this.#memory.buffer);
      }
    }
  }

  /** Gives the most frequent words ids from 2 on; of equally frequent ones the first counted. */
  vocabulary({ minFrequency, maxSize }: VocabularyLimits): Vocabulary {
    const same = this.#lowercase ? this.#lowercased() : [];
    const records = this.#records();
    const values = this.#values;
    for (const [spelling, word] of same) {
      const from = records[spelling]!;
      const to = records[word]!;
      values[to + countAt]! += values[from + countAt]!;
      // One less, so that 0, which is never, comes last.
      values[to + rankAt] = 1 +
        Math.min((values[to + rankAt]! - 1) >>> 0, (values[from + rankAt]! - 1) >>> 0);
      values[from + countAt] = 0;
    }
    const numbers = mostFrequent(
      records.map((record) => values[record + countAt]!),
      records.map((record) => values[record + rankAt]!),
      Math.max(1, minFrequency),
    ).subarray(0, Math.max(0, maxSize - firstWordId));
    const ids = new Uint32Array(records.length).fill(unknownId);
    for (const [i, number] of numbers.entries()) ids[number] = i + firstWordId;
    for (const [spelling, word] of same) ids[spelling] = ids[word]!;
    return { words: this.#texts(numbers.map((number) => records[number]!)), ids };
  }

  /** Where in `#values` each word's record is, by number. */
  #records(): Uint32Array<ArrayBuffer> {
    const records = new Uint32Array(this.size);
    const values = this.#values;
    const slots = this.#table.slotsAddress() / 4;
    const end = slots + this.#table.slotCount() * 2;
    for (let slot = slots; slot < end; slot += 2) {
      const record = values[slot + 1]! / 4;
      if (record !== 0) records[values[record]!] = record;
    }
    return records;
  }

  /** Numbers of words that lower-casing changes, each with that of the word it becomes. */
  #lowercased(): [spelling: number, word: number][] {
    const wide = this.#records().filter((record) => this.#values[record + wideAt] === 1);
    const numbers = wide.map((record) => this.#values[record]!);
    const words = this.#texts(wide);
    const into = new ChunkedArray();
    const changed: number[] = [];
    for (const [i, word] of words.entries()) {
      const lower = word.toLowerCase();
      if (lower === word) continue;
      changed.push(numbers[i]!);
      this.read(bytesOf(lower));
      this.add({ count: false, limit: 1, into });
    }
    const becomes = Array.from(into.drain(), (piece) => [...piece]).flat();
    return changed.map((number, i) => [number, becomes[i]!]);
  }

  /** The words of records. */
  #texts(records: Uint32Array): string[] {
    if (records.length === 0) return [];
    const length = (record: number) => this.#values[record + lengthAt]!;
    const bytes = new Uint8Array(records.reduce((sum, record) => sum + length(record) + 1, 0));
    let at = 0;
    for (const record of records) {
      const start = (record + recordValues) * 4;
      bytes.set(this.#bytes.subarray(start, start + length(record)), at);
      at += length(record);
      // No word holds whitespace.
      bytes[at++] = newline;
    }
    return textOf(bytes.subarray(0, -1)).split("\n");
  }
}

/** Numbers of the words counted at least `min` times, the most frequent first, then the first counted. */
function mostFrequent(counts: Uint32Array, ranks: Uint32Array, min: number): Uint32Array {
  const chosen = counts.reduce((sum, count) => sum + (count >= min ? 1 : 0), 0);
  // Sorted as integers of 64 bits, whose upper half falls with the count and whose lower is the rank.
  const keys = new BigUint64Array(chosen);
  const halves = new Uint32Array(keys.buffer);
  const numbers = new Uint32Array(ranks.reduce((most, rank) => Math.max(most, rank), 0) + 1);
  let at = 0;
  for (const [number, count] of counts.entries()) {
    if (count < min) continue;
    numbers[ranks[number]!] = number;
    halves[at++] = ranks[number]!;
    halves[at++] = ~count;
  }
  keys.sort();
  return new Uint32Array(chosen).map((_, i) => numbers[halves[2 * i]!]!);
}

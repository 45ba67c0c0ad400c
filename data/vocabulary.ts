/**
 * Counting words and giving them ids.
 *
 * @module
 */
import code from "./compiled/words.wasm" with { type: "bytes" };
import { ChunkedArray, type GrowingArray } from "./growing.ts";
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
  numbersEnd(): number;
  slotsAddress(): number;
  slotCount(): number;
  wordCount(): number;
  hashText(length: number): number;
  begin(length: number): void;
  next(count: boolean, fold: boolean, limit: number): number;
  more(): number;
  idsAddress(count: number): number;
  givenAddress(): number;
  beginNumbers(length: number): void;
  nextIds(): number;
}

/** Where in a word's record, which starts with its number, its other values are; then its bytes. */
const countAt = 1, rankAt = 2, lengthAt = 3, recordValues = 4;
/** In a length: the word has a byte outside ASCII. */
const wideBit = 1 << 31;
const newline = 0x0a;
/** What addresses of 32 bits reach. */
const maxTableBytes = 2 ** 32;
const pageBytes = 2 ** 16;

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
  readonly #memory: WebAssembly.Memory;
  readonly #table: Functions;
  #bytes: Uint8Array = new Uint8Array();
  #values: Uint32Array = new Uint32Array();
  /** Bytes of the text at hand. */
  #length = 0;

  /** @param options.maxBytes What the table may take, 4 GiB unless given. */
  constructor(options: { readonly lowercase: boolean; readonly maxBytes?: number }) {
    const { lowercase, maxBytes = maxTableBytes } = options;
    this.#lowercase = lowercase;
    this.#memory = new WebAssembly.Memory({ initial: 0, maximum: maxBytes / pageBytes });
    const full = () => {
      throw new DataError(
        `Cannot number the words: the table of words must take at most ${maxBytes} bytes, and ` +
          `${this.size} different words fill it; take fewer documents by "subset"`,
      );
    };
    const module = new WebAssembly.Module(code);
    const { exports } = new WebAssembly.Instance(module, {
      env: { memory: this.#memory },
      words: { full },
    });
    this.#table = exports as unknown as Functions;
  }

  /** Different words so far, before those outside ASCII are lower-cased. */
  get size(): number {
    return this.#table.wordCount();
  }

  /**
   * Takes a text, in UTF-8, to hash and to number.
   *
   * @throws {DataError} If there is no room for it, as for a new word in {@linkcode add}.
   */
  read(text: Uint8Array): void {
    const at = this.#table.textAddress(text.length) >>> 0;
    this.#look();
    this.#bytes.set(text, at);
    this.#length = text.length;
  }

  /**
   * 64 bits of hash of the text read, before its words are numbered, as two values of 32: two of a
   * million different texts share one with a chance of 3 · 10⁻⁸. Half of a tokenizer's time on short texts would
   * go into starting and ending cryptographic hashes.
   */
  hash(into: GrowingArray): void {
    const at = (this.#table.hashText(this.#length) >>> 0) / 4;
    into.push(this.#values[at]!);
    into.push(this.#values[at + 1]!);
  }

  /**
   * Numbers the words of the text read, from 0 in order of appearance.
   *
   * @returns How many it has.
   */
  add({ count, limit, into }: AddOptions): number {
    const table = this.#table;
    const at = table.numbersAddress() >>> 0;
    let words = 0;
    table.begin(this.#length);
    do {
      const left = Math.min(Math.max(0, limit - words), 0xffffffff);
      const found = table.next(count, this.#lowercase, left);
      this.#look();
      const numbers = this.#bytes.subarray(at, table.numbersEnd() >>> 0);
      if (left > 0) into.appendBytes(numbers, Math.min(found, left));
      words += found;
    } while (table.more());
    return words;
  }

  /** Gives the ids of provisional numbers in pieces that the next overwrites, and forgets the numbers. */
  *idsOf(numbers: ChunkedArray, ids: Uint32Array): Generator<Uint32Array, void, undefined> {
    const table = this.#table;
    const at = (table.idsAddress(ids.length) >>> 0) / 4;
    this.#look();
    this.#values.set(ids, at);
    const given = (table.givenAddress() >>> 0) / 4;
    for (const bytes of numbers.drainBytes()) {
      this.read(bytes);
      table.beginNumbers(bytes.length);
      do {
        const count = table.nextIds();
        yield this.#values.subarray(given, given + count);
      } while (table.more());
    }
  }

  /** Looks at the memory again where it was enlarged, which makes its views empty. */
  #look(): void {
    if (this.#bytes.length > 0) return;
    this.#bytes = new Uint8Array(this.#memory.buffer);
    this.#values = new Uint32Array(this.#memory.buffer);
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
    const numbers = this.#mostFrequent(records, Math.max(1, minFrequency))
      .subarray(0, Math.max(0, maxSize - firstWordId));
    const ids = new Uint32Array(records.length).fill(unknownId);
    for (let i = 0; i < numbers.length; i++) ids[numbers[i]!] = i + firstWordId;
    for (const [spelling, word] of same) ids[spelling] = ids[word]!;
    const lines = this.#lines(numbers.map((number) => records[number]!));
    return { words: lines === "" ? [] : lines.split("\n"), ids };
  }

  /** Where in `#values` each word's record is, by number. */
  #records(): Uint32Array<ArrayBuffer> {
    const records = new Uint32Array(this.size);
    const values = this.#values;
    const slots = (this.#table.slotsAddress() >>> 0) / 4;
    const end = slots + this.#table.slotCount() * 2;
    for (let slot = slots; slot < end; slot += 2) {
      const record = values[slot + 1]! / 4;
      if (record !== 0) records[values[record]!] = record;
    }
    return records;
  }

  /** Numbers of words that lower-casing changes, each with that of the word it becomes. */
  #lowercased(): [spelling: number, word: number][] {
    const wide = this.#records().filter((record) =>
      (this.#values[record + lengthAt]! & wideBit) !== 0
    );
    const lines = this.#lines(wide);
    // Of all words at once: what a letter becomes depends on none beyond whitespace.
    const becomes = lines.toLowerCase().split("\n");
    const spellings = lines.split("\n");
    const changed = [...spellings.keys()].filter((i) => becomes[i] !== spellings[i]);
    const into = new ChunkedArray();
    this.read(bytesOf(changed.map((i) => becomes[i]).join("\n")));
    this.add({ count: false, limit: changed.length, into });
    const words = Array.from(into.drain(), (piece) => [...piece]).flat();
    return changed.map((i, at) => [this.#values[wide[i]!]!, words[at]!]);
  }

  /** The words of records, one a line: none holds whitespace. */
  #lines(records: Uint32Array): string {
    const values = this.#values;
    const bytes = this.#bytes;
    let length = 0;
    for (let i = 0; i < records.length; i++) {
      length += (values[records[i]! + lengthAt]! & ~wideBit) + 1;
    }
    const lines = new Uint8Array(length);
    let at = 0;
    for (let i = 0; i < records.length; i++) {
      const start = (records[i]! + recordValues) * 4;
      const end = start + (values[records[i]! + lengthAt]! & ~wideBit);
      for (let from = start; from < end; from++) lines[at++] = bytes[from]!;
      lines[at++] = newline;
    }
    return textOf(lines.subarray(0, -1));
  }

  /** Numbers of the words counted at least `min` times, the most frequent first, then the first counted. */
  #mostFrequent(records: Uint32Array, min: number): Uint32Array {
    const values = this.#values;
    // Sorted as integers of 64 bits, whose upper half falls with the count and whose lower is the rank.
    let chosen = 0;
    for (const record of records) if (values[record + countAt]! >= min) chosen += 1;
    const keys = new BigUint64Array(chosen);
    const halves = new Uint32Array(keys.buffer);
    const numbers = new Uint32Array(records.length + 1);
    let at = 0;
    for (let number = 0; number < records.length; number++) {
      const count = values[records[number]! + countAt]!;
      if (count < min) continue;
      const rank = values[records[number]! + rankAt]!;
      numbers[rank] = number;
      halves[at++] = rank;
      halves[at++] = ~count;
    }
    keys.sort();
    const sorted = new Uint32Array(chosen);
    for (let i = 0; i < chosen; i++) sorted[i] = numbers[halves[2 * i]!]!;
    return sorted;
  }
}

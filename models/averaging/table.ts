/**
 * The embeddings of a whole vocabulary in training: a batch has few of its words, and only their rows
 * are read and written.
 *
 * Weight decay is a part of every row's gradient at every step. A row without words in the batch has
 * that part alone. It is applied when the row is next read, for all steps since, in closed form. After
 * 2,000 steps with the paper's numbers, longer than any epoch, weights are within 3e-5 of the largest
 * of those that dense steps give.
 *
 * @module
 */
import type { KernelMemory, Matrix } from "./memory.ts";

/** AdaGrad's constants. */
export interface Adagrad {
  readonly rate: number;
  readonly epsilon: number;
}

/** Sums over the first steps of a training: of the decays that they apply, and of their squares. */
export interface Decays {
  readonly sum: number;
  readonly squares: number;
}

/** The words that a batch keeps, by document and by row. */
export class BatchWords {
  /** Rows of all documents' kept words, one document's after the other's. */
  ids = new Int32Array(1 << 12);
  /** Where each document's start in `ids`, and last where the last one's end. */
  readonly starts: number[] = [0];
  /** Different rows, in order of appearance. */
  readonly rows: number[] = [];
  /** For each row the numbers of its first and its last pair. */
  readonly #first: number[] = [];
  readonly #last: number[] = [];
  /** For each pair of a row and a document: the document, the row's words in it, the next pair or −1. */
  readonly #document: number[] = [];
  readonly #count: number[] = [];
  readonly #next: number[] = [];
  /** Of a row in `rows`: where there. */
  readonly #slots: Int32Array;

  constructor(vocabulary: number) {
    this.#slots = new Int32Array(vocabulary);
  }

  /** Forgets the batch before. */
  clear(): void {
    this.starts.length = 1;
    for (const list of [this.rows, this.#first, this.#last]) list.length = 0;
    for (const list of [this.#document, this.#count, this.#next]) list.length = 0;
  }

  /** Adds the next document's words `ids[from..to)`: those that `kept` is not 0 for, or all. */
  add(ids: ArrayLike<number>, [from, to]: readonly [number, number], kept?: Float32Array): void {
    const document = this.starts.length - 1;
    let end = this.starts[document]!;
    if (end + to - from > this.ids.length) {
      const larger = new Int32Array(2 * (end + to - from));
      larger.set(this.ids);
      this.ids = larger;
    }
    for (let i = from; i < to; i++) {
      if (kept !== undefined && kept[i - from] === 0) continue;
      const row = ids[i]!;
      this.ids[end++] = row;
      this.#register(row, document);
    }
    this.starts.push(end);
  }

  #register(row: number, document: number): void {
    let slot = this.#slots[row]!;
    if (this.rows[slot] !== row) {
      slot = this.#slots[row] = this.rows.push(row) - 1;
      this.#first[slot] = -1;
    }
    const last = this.#first[slot] === -1 ? -1 : this.#last[slot]!;
    if (last >= 0 && this.#document[last] === document) {
      this.#count[last]!++;
      return;
    }
    const pair = this.#document.push(document) - 1;
    this.#count.push(1);
    this.#next.push(-1);
    if (last === -1) this.#first[slot] = pair;
    else this.#next[last] = pair;
    this.#last[slot] = pair;
  }

  /** Calls `body` for each document that has a word, in order, with how often it does. */
  eachDocument(slot: number, body: (document: number, count: number) => void): void {
    for (let pair = this.#first[slot]!; pair >= 0; pair = this.#next[pair]!) {
      body(this.#document[pair]!, this.#count[pair]!);
    }
  }
}

/** The table. */
export class EmbeddingTable {
  /** Of each row: steps whose decay it has seen; as floats, which count to 2²⁴. */
  readonly seen: Float32Array;
  readonly #memory: KernelMemory;
  readonly #weights: Matrix;
  readonly #sums: Matrix;
  readonly #pairs: Matrix;
  readonly #options: Adagrad & { readonly decays: (steps: number) => Decays };

  /**
   * @param o.pairs Work space: two columns for each document of a batch.
   * @param o.decays What the first `steps` steps decay.
   */
  constructor(
    memory: KernelMemory,
    o: Adagrad & {
      readonly weights: Matrix;
      readonly sums: Matrix;
      readonly pairs: Matrix;
      readonly decays: (steps: number) => Decays;
    },
  ) {
    this.#memory = memory;
    this.#weights = o.weights;
    this.#sums = o.sums;
    this.#pairs = o.pairs;
    this.#options = o;
    this.seen = new Float32Array(o.weights.rows);
  }

  /** Brings rows to where `steps` steps have them. */
  catchUp(rows: Iterable<number>, steps: number): void {
    const { decays, rate, epsilon } = this.#options;
    const { module } = this.#memory;
    const bytes = this.#weights.stride * 4;
    const now = decays(steps);
    let since = -1, x = 0, squares = 0, mean = 0;
    for (const row of rows) {
      const seen = this.seen[row]!;
      if (seen === steps) continue;
      if (seen !== since) {
        const before = decays(since = seen);
        x = rate * (now.sum - before.sum);
        squares = now.squares - before.squares;
        mean = meanShare(steps - seen);
      }
      const place = row * bytes;
      if (x > 0) {
        const [weights, sums] = [this.#weights.address + place, this.#sums.address + place];
        module.decayRow(weights, sums, bytes, x, squares, epsilon, mean);
      }
      this.seen[row] = steps;
    }
  }

  /** Brings all rows to where `steps` steps have them. */
  catchUpAll(steps: number): void {
    this.catchUp(this.seen.keys(), steps);
  }

  /**
   * Step `step`, from 1, of the rows with words in the batch, which must have been caught up to the
   * step before.
   *
   * @param o.deltas Gradients of the documents' averages.
   * @param o.share What a word that occurs `count` times is of its document's average.
   */
  step(words: BatchWords, o: {
    readonly step: number;
    readonly decay: number;
    readonly deltas: Matrix;
    readonly share: (document: number, count: number) => number;
  }): void {
    const { rate, epsilon } = this.#options;
    const { module } = this.#memory;
    const bytes = this.#weights.stride * 4;
    const { values: coefficients, address: pairs } = this.#pairs;
    const offsets = new Int32Array(coefficients.buffer, pairs, coefficients.length);
    for (const [slot, row] of words.rows.entries()) {
      let count = 0;
      words.eachDocument(slot, (document, times) => {
        offsets[2 * count] = document * o.deltas.stride * 4;
        coefficients[2 * count + 1] = o.share(document, times);
        count++;
      });
      const place = row * bytes;
      const [weights, sums] = [this.#weights.address + place, this.#sums.address + place];
      const { address } = o.deltas;
      module.stepRow(weights, sums, address, pairs, count, bytes, o.decay, rate, epsilon);
      this.seen[row] = o.step;
    }
  }
}

/**
 * The square of the mean of √(t/n), t = 1 to n: of what n equal steps add to a sum of squares, the
 * share whose root is that of all steps' sums on average. A sum that was large before does not mind.
 */
function meanShare(n: number): number {
  const mean = 2 / 3 + 1 / (2 * n) - 1 / (6 * n * Math.sqrt(n));
  return mean * mean;
}

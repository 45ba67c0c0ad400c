/**
 * Batches of documents, one document's tokens after the other's, without padding.
 *
 * @module
 */

/** Documents of a corpus: document i has tokens `ids[offsets[i]]` to `ids[offsets[i+1]] − 1`. */
export interface Documents {
  readonly labels: ArrayLike<number>;
  readonly offsets: ArrayLike<number>;
  readonly ids: ArrayLike<number>;
}

/** Some documents, ready for a model. */
export interface Batch {
  /** N token ids. */
  readonly ids: Int32Array;
  /** N positions, from 0 in each document. */
  readonly positions: Int32Array;
  /** B + 1 row numbers. */
  readonly offsets: Int32Array;
  /** B class numbers. */
  readonly labels: Int32Array;
}

/** Gathers documents into a batch. */
export function packBatch(documents: Documents, chosen: ArrayLike<number>): Batch {
  const offsets = new Int32Array(chosen.length + 1);
  for (let i = 0; i < chosen.length; i++) {
    const document = chosen[i]!;
    const length = documents.offsets[document + 1]! - documents.offsets[document]!;
    offsets[i + 1] = offsets[i]! + length;
  }
  const ids = new Int32Array(offsets[chosen.length]!);
  const positions = new Int32Array(ids.length);
  const labels = new Int32Array(chosen.length);
  for (let i = 0, to = 0; i < chosen.length; i++) {
    const from = documents.offsets[chosen[i]!]!;
    const length = offsets[i + 1]! - offsets[i]!;
    labels[i] = documents.labels[chosen[i]!]!;
    for (let t = 0; t < length; t++, to++) {
      ids[to] = documents.ids[from + t]!;
      positions[to] = t;
    }
  }
  return { ids, positions, offsets, labels };
}

/**
 * Cuts a list of documents into runs of at most `tokens` tokens, but at least one document each.
 * Gradients summed over the runs are those of the whole list; only the memory differs.
 */
export function chunks(
  documents: Documents,
  chosen: ArrayLike<number>,
  tokens: number,
): number[][] {
  const runs: number[][] = [];
  let run: number[] = [], held = 0;
  for (let i = 0; i < chosen.length; i++) {
    const document = chosen[i]!;
    const length = documents.offsets[document + 1]! - documents.offsets[document]!;
    if (run.length > 0 && held + length > tokens) {
      runs.push(run);
      run = [], held = 0;
    }
    run.push(document);
    held += length;
  }
  if (run.length > 0) runs.push(run);
  return runs;
}

/** The number of tokens of the chosen documents. */
export function tokensOf(documents: Documents, chosen: ArrayLike<number>): number {
  let tokens = 0;
  for (let i = 0; i < chosen.length; i++) {
    tokens += documents.offsets[chosen[i]! + 1]! - documents.offsets[chosen[i]!]!;
  }
  return tokens;
}

/** The documents' lengths from where they start. */
export function lengthsOf(offsets: Int32Array): Int32Array {
  return Int32Array.from({ length: offsets.length - 1 }, (_, i) => offsets[i + 1]! - offsets[i]!);
}

/**
 * From documents to token ids: the authors' tokenizer of paper A.
 *
 * @module
 */
import type { Corpus, Document } from "./corpus.ts";
import { ChunkedArray, GrowingArray } from "./growing.ts";
import { DataError } from "./lines.ts";
import { stratifiedParts, stratifiedSubset } from "./select.ts";
import { type SplitName, splitNames } from "./splits.ts";
import {
  Duplicates,
  type LengthStatistics,
  lengthStatistics,
  stampFinder,
  type StampStatistics,
} from "./statistics.ts";
import { bytesOf, textOf } from "./text_bytes.ts";
import type { TokensToWrite } from "./token_file.ts";
import { WordNumbers } from "./vocabulary.ts";
import { firstWordId } from "./words.ts";

/** How to tokenise; the stage `tokenize` documents the choices. */
export interface TokenizeOptions {
  readonly maxLength: number;
  readonly minFrequency: number;
  readonly maxVocabulary: number;
  readonly vocabularyOver: "train" | "all";
  readonly lowercase: boolean;
  /** What is replaced by what before words are split, everywhere and in this order. */
  readonly replace?: readonly (readonly [string, string])[];
  /** At most how many documents of each split to keep. */
  readonly subset?:
    | Readonly<Partial<Record<SplitName, number | undefined>> & { seed: number }>
    | undefined;
  /** Shares in which documents without a given split are dealt out. */
  readonly shares: Readonly<Record<SplitName, number>> & { readonly seed: number };
}

/** Statistics of one split. */
export interface SplitStatistics {
  readonly documents: number;
  /** Documents the source holds; absent where all of them were taken. */
  readonly available?: number;
  /** Before clipping. */
  readonly tokens: number;
  readonly perClass: readonly { readonly class: string; readonly documents: number }[];
  readonly lengths: LengthStatistics;
  readonly stamps: StampStatistics;
}

/** A tokenised corpus and what was found on the way. */
export interface Tokenized {
  /** To be written once: what was written is forgotten, so that memory holds all ids in one form only. */
  readonly tokens: TokensToWrite;
  readonly words: readonly string[];
  readonly statistics: {
    readonly classes: readonly string[];
    readonly splits: Readonly<Record<string, SplitStatistics>>;
    readonly vocabularySize: number;
    readonly duplicatesAcrossSplits: Readonly<Record<string, number>>;
  };
}

class SplitBuilder {
  readonly labels: number[] = [];
  readonly offsets = new GrowingArray();
  readonly numbers = new ChunkedArray();
  readonly lengths = new GrowingArray();
  clipped = 0;
  stamps = { own: 0, other: 0 };
}

/** Number of the one word of a document without any: no word's, so that its id is the unknown one's. */
const noWord = 0xffffffff;

/**
 * Tokenises a corpus: lower-cases, splits at whitespace, keeps the first `maxLength` words, gives
 * ids by frequency. A document without words becomes one unknown word.
 *
 * @throws {DataError} If the corpus is malformed or a split is empty.
 */
export async function tokenizeCorpus(
  corpus: Corpus,
  options: TokenizeOptions,
): Promise<Tokenized> {
  const { builders, numbers, duplicates, available } = await readDocuments(corpus, options);
  const present = splitNames.filter((name) => builders.has(name));
  for (const name of ["train", "test"] as const) {
    if (!builders.has(name)) {
      throw new DataError(`Cannot tokenise: the corpus has no documents for the split "${name}"`);
    }
  }
  const { words, ids } = numbers.vocabulary({
    minFrequency: options.minFrequency,
    maxSize: options.maxVocabulary,
  });
  const vocabularySize = words.length + firstWordId;
  const splits: Record<string, TokensToWrite["splits"][string]> = {};
  const summaries: Record<string, SplitStatistics> = {};
  let longest = 1;
  for (const name of present) {
    const builder = builders.get(name)!;
    splits[name] = finishSplit(builder, (kept) => numbers.idsOf(kept, ids));
    const { classes } = corpus;
    const summary = summaryOf(builder, { classes, available: available?.get(name) });
    summaries[name] = summary;
    longest = Math.max(longest, Math.min(summary.lengths.max, options.maxLength));
  }
  return {
    tokens: { vocabularySize, maxLength: longest, classes: corpus.classes, splits },
    words,
    statistics: {
      classes: corpus.classes,
      splits: summaries,
      vocabularySize,
      duplicatesAcrossSplits: duplicates.across(present),
    },
  };
}

/** Reads the documents into their splits, their words numbered as they come. */
async function readDocuments(corpus: Corpus, options: TokenizeOptions) {
  const { assign, available } = await assignSplits(corpus, options);
  const noWords = Uint32Array.of(noWord);
  const numbers = new WordNumbers({ lowercase: options.lowercase });
  const builders = new Map<SplitName, SplitBuilder>();
  const duplicates = new Duplicates();
  const stampsOf = stampFinder(corpus.classes);
  let position = 0;
  const add = (document: Document) => {
    const split = assign(position++, document);
    if (split === undefined) return;
    let builder = builders.get(split);
    if (builder === undefined) builders.set(split, builder = new SplitBuilder());
    numbers.read(document.text);
    numbers.hash(duplicates.hashes(split));
    const { own, other } = stampsOf(document);
    builder.stamps.own += own;
    builder.stamps.other += other;
    const { numbers: kept } = builder;
    builder.labels.push(document.label);
    builder.offsets.push(kept.length);
    if (options.replace?.length) numbers.read(replaced(document.text, options.replace));
    const length = numbers.add({
      count: options.vocabularyOver === "all" || split === "train",
      limit: options.maxLength,
      into: kept,
    });
    if (length === 0) kept.append(noWords);
    if (length > options.maxLength) builder.clipped += 1;
    builder.lengths.push(length);
  };
  for await (const documents of corpus.documents()) for (const each of documents) add(each);
  return { builders, numbers, duplicates, available };
}

/** A text after each replacement, whose results the next one sees. */
function replaced(
  bytes: Uint8Array,
  replace: readonly (readonly [string, string])[],
): Uint8Array {
  let text = textOf(bytes);
  // By a function: in a string, `$` would have a meaning.
  for (const [from, to] of replace) text = text.replaceAll(from, () => to);
  return bytesOf(text);
}

function summaryOf(
  builder: SplitBuilder,
  { classes, available }: { classes: readonly string[]; available: number | undefined },
): SplitStatistics {
  const lengths = builder.lengths.values();
  const perClass = new Array<number>(classes.length).fill(0);
  for (const label of builder.labels) perClass[label]! += 1;
  const held = available ?? lengths.length;
  return {
    documents: lengths.length,
    ...(held === lengths.length ? {} : { available: held }),
    tokens: lengths.reduce((sum, length) => sum + length, 0),
    perClass: classes.map((name, i) => ({ class: name, documents: perClass[i]! })),
    lengths: lengthStatistics(lengths, builder.clipped),
    stamps: builder.stamps,
  };
}

function finishSplit(
  { labels, numbers, offsets, clipped }: SplitBuilder,
  idsOf: (numbers: ChunkedArray) => Iterable<Uint32Array>,
): TokensToWrite["splits"][string] {
  const { length } = numbers;
  offsets.push(length);
  return {
    labels: Uint16Array.from(labels),
    offsets: offsets.values().slice(),
    ids: { length, pieces: () => idsOf(numbers) },
    clipped,
  };
}

interface Assignment {
  readonly assign: (position: number, document: Document) => SplitName | undefined;
  /** Documents of each split before a subset was taken; `undefined` where none was. */
  readonly available?: ReadonlyMap<SplitName, number>;
}

/**
 * Decides each document's split, or that it is left out. Reads the labels first where a choice
 * depends on them.
 */
async function assignSplits(corpus: Corpus, options: TokenizeOptions): Promise<Assignment> {
  const { subset, shares } = options;
  const chosen: (SplitName | "all")[] = [];
  const labels: number[] = [];
  if (subset === undefined && !corpus.drawsSplits) {
    return { assign: (_, { split }) => split as SplitName };
  }
  for await (const documents of corpus.documents(false)) {
    for (const { split, label } of documents) {
      chosen.push(split);
      labels.push(label);
    }
  }
  const result: (SplitName | undefined)[] = chosen.map((split) =>
    split === "all" ? undefined : split
  );
  if (corpus.drawsSplits) {
    const positions = positionsOf(chosen, "all");
    const parts = stratifiedParts(
      positions.map((position) => labels[position]!),
      splitNames.map((name) => shares[name]),
      { seed: shares.seed, stream: "shares" },
    );
    for (const [i, position] of positions.entries()) result[position] = splitNames[parts[i]!];
  }
  const available = new Map<SplitName, number>();
  for (const name of splitNames) {
    const positions = positionsOf(result, name);
    available.set(name, positions.length);
    const size = subset?.[name];
    if (subset === undefined || size === undefined) continue;
    const kept = stratifiedSubset(
      positions.map((position) => labels[position]!),
      size,
      { seed: subset.seed, stream: name },
    );
    for (const [i, position] of positions.entries()) {
      if (!kept[i]) result[position] = undefined;
    }
  }
  return { assign: (position) => result[position], available };
}

function positionsOf<T>(values: readonly T[], wanted: T): number[] {
  const positions: number[] = [];
  for (const [i, value] of values.entries()) if (value === wanted) positions.push(i);
  return positions;
}

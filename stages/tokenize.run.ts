/**
 * Runs stage `tokenize`, which `tokenize.ts` declares.
 *
 * @module
 */
import {
  type Measurements,
  measurementsText,
  scalars,
  series,
} from "../analysis/tidy/measurements.ts";
import { tokenizeCharacters } from "../data/characters.ts";
import { openCorpus } from "../data/corpus.ts";
import { DataError } from "../data/lines.ts";
import { type Description, descriptionName, descriptionSchema } from "../data/source.ts";
import { type TokensToWrite, writeTokenFile } from "../data/token_file.ts";
import { tokenizeCorpus, type Tokenized } from "../data/tokenize.ts";
import { firstWordId, paddingId, unknownId } from "../data/words.ts";
import { StageError } from "../pipeline/errors.ts";
import type { Artifact, StageContext } from "../pipeline/stage.ts";
import type { SymbolParams, TokenizeParams, WordParams } from "./tokenize.ts";

export async function run(context: StageContext<TokenizeParams>): Promise<void> {
  const raw = context.input("raw");
  const description = readDescription(raw);
  const { params } = context;
  const text = description.format === "characters";
  if (text !== (params.unit !== "word")) {
    throw new StageError(
      `Cannot tokenise "${description.source.name}": ${
        text
          ? "it is one text, whose unit must be byte or character"
          : "it holds documents, whose unit must be word"
      }, found "${params.unit}"`,
    );
  }
  try {
    const { tokens, vocabulary, statistics } = params.unit === "word"
      ? await words(description, raw, params)
      : await symbols(description, raw, params);
    writeTokenFile(context.output("tokens"), tokens);
    Deno.writeTextFileSync(context.output("vocabulary"), vocabulary);
    Deno.writeTextFileSync(
      context.output("statistics"),
      measurementsText(measurements(description, statistics)),
    );
    context.metric("vocabulary_size", statistics.vocabularySize);
    for (const [name, { documents }] of Object.entries(statistics.splits)) {
      context.metric(`${name}_documents`, documents);
    }
  } catch (cause) {
    if (!(cause instanceof DataError)) throw cause;
    throw new StageError(cause.message, { cause });
  }
}

/**
 * Statistics as tables. The share of the majority class is that of the split test, else of the last:
 * the accuracy of always answering with it.
 */
function measurements(
  { source }: Description,
  { splits, vocabularySize, classes, duplicatesAcrossSplits }: Tokenized["statistics"],
): Measurements {
  const own = Object.entries(splits).map(([split, of]) => ({ split, ...of }));
  const tested = splits["test"] ?? own.at(-1)!;
  const total = (of: (split: typeof own[number]) => number) =>
    own.reduce((sum, split) => sum + of(split), 0);
  const duplicates = Object.entries(duplicatesAcrossSplits)
    .map(([splits, duplicates]) => ({ splits, duplicates }));
  return {
    corpora: scalars({
      source: source.name,
      kind: source.kind,
      title: source.title,
      note: source.note,
      documents: total((split) => split.documents),
      tokens: total((split) => split.tokens),
      vocabulary: vocabularySize,
      classes: classes.length,
      majority_share: Math.max(...tested.perClass.map((each) => each.documents)) /
        tested.documents,
      duplicates: duplicates.reduce((sum, each) => sum + each.duplicates, 0),
    }),
    splits: series(own.map(({ split, documents, available, tokens, lengths, stamps }) => {
      const { clippedShare, ...percentiles } = lengths;
      return {
        split,
        documents,
        available: available ?? documents,
        tokens,
        ...percentiles,
        clipped_share: clippedShare,
        stamps_own: stamps.own,
        stamps_other: stamps.other,
      };
    })),
    classes_by_split: series(
      own.flatMap(({ split, perClass }) =>
        perClass.map((each) => ({ split, class: each.class, class_documents: each.documents }))
      ),
    ),
    ...(duplicates.length === 0 ? {} : { duplicates: series(duplicates) }),
  };
}

interface Outputs {
  readonly tokens: TokensToWrite;
  /** Text of the vocabulary file: one word per line, so that a change shows as changed lines. */
  readonly vocabulary: string;
  readonly statistics: Tokenized["statistics"];
}

async function words(
  description: Description,
  raw: Artifact,
  params: WordParams,
): Promise<Outputs> {
  const corpus = await openCorpus(description, raw.files);
  const { tokens, words, statistics } = await tokenizeCorpus(corpus, {
    maxLength: params.max_length,
    minFrequency: params.min_frequency,
    maxVocabulary: params.max_vocabulary,
    vocabularyOver: params.vocabulary_over,
    lowercase: params.lowercase,
    replace: params.replace,
    shares: params.shares,
    subset: params.subset,
  });
  const lines = words.map((word) => `\n    ${JSON.stringify(word)}`).join(",");
  const vocabulary = `{\n  "padding": ${paddingId},\n  "unknown": ${unknownId},\n` +
    `  "firstWord": ${firstWordId},\n  "words": [${lines}\n  ]\n}\n`;
  return { tokens, vocabulary, statistics };
}

async function symbols(
  description: Description,
  raw: Artifact,
  params: SymbolParams,
): Promise<Outputs> {
  const { tokens, symbols, statistics } = await tokenizeCharacters(description, raw.files, params);
  const vocabulary = `${JSON.stringify({ unit: params.unit, symbols }, null, 2)}\n`;
  return { tokens, vocabulary, statistics };
}

function readDescription(raw: Artifact): Description {
  const path = raw.files.get(descriptionName);
  if (path === undefined) {
    throw new StageError(
      `Cannot tokenise: the raw folder must hold "${descriptionName}", found ${
        [...raw.files.keys()].slice(0, 5).join(", ") || "nothing"
      }`,
    );
  }
  try {
    return descriptionSchema.parse(JSON.parse(Deno.readTextFileSync(path)));
  } catch (cause) {
    throw new StageError(
      `Cannot tokenise: "${descriptionName}" does not describe a raw folder: ${
        (cause as Error).message
      }`,
      { cause },
    );
  }
}

/**
 * Stage `tokenize`: from raw files to token ids, a vocabulary and statistics.
 *
 * @module
 */
import { z } from "zod";
import { tokenizeCharacters } from "../data/characters.ts";
import { openCorpus } from "../data/corpus.ts";
import { DataError } from "../data/lines.ts";
import { type Description, descriptionName, descriptionSchema } from "../data/source.ts";
import { type TokenFile, writeTokenFile } from "../data/token_file.ts";
import { tokenizeCorpus, type Tokenized } from "../data/tokenize.ts";
import { firstWordId, paddingId, unknownId } from "../data/words.ts";
import { StageError } from "../pipeline/errors.ts";
import { type Artifact, defineStage } from "../pipeline/stage.ts";

const share = z.number().min(0).max(1);
const most = z.int().min(1).optional();

/** Shares must use everything up. */
function sumToOne(shares: { train: number; validation: number; test: number }): boolean {
  return Math.abs(shares.train + shares.validation + shares.test - 1) < 1e-9;
}
const sumError = { error: "train, validation and test must sum to 1" };

/** Labelled documents as words. */
const wordParams = z.strictObject({
  unit: z.literal("word").default("word"),
  /** Tokens of a document that are kept, from its start. */
  max_length: z.int().min(1).default(512),
  /** Fewest occurrences of a word that gets its own id. */
  min_frequency: z.int().min(1).default(2),
  /** Most ids, padding (0) and unknown (1) included. */
  max_vocabulary: z.int().min(2).default(50_000),
  /** Whose words are counted: `all` repeats the leak in the authors' ArXiv notebook. */
  vocabulary_over: z.enum(["train", "all"]).default("train"),
  lowercase: z.boolean().default(true),
  /** At most how many documents of a split to keep, each class in proportion, order unchanged. */
  subset: z.strictObject({
    train: most,
    validation: most,
    test: most,
    seed: z.int().min(0).default(0),
  }).optional(),
  /** How documents that come without a split are dealt out, each class in proportion. */
  shares: z.strictObject({
    train: share,
    validation: share.default(0),
    test: share,
    seed: z.int().min(0).default(0),
  }).refine(sumToOne, sumError).default({ train: 0.8, validation: 0.1, test: 0.1, seed: 0 }),
});

/** One long text as symbols. */
const symbolParams = z.strictObject({
  /** What a symbol is: a byte, or a Unicode code point. */
  unit: z.enum(["byte", "character"]),
  /** How the text is cut, from its start. */
  shares: z.strictObject({ train: share, validation: share, test: share.default(0) })
    .refine(sumToOne, sumError).default({ train: 0.9, validation: 0.05, test: 0.05 }),
  /** At most how many symbols of a split to keep, from its start. */
  subset: z.strictObject({ train: most, validation: most, test: most }).optional(),
});

const params = z.discriminatedUnion("unit", [wordParams, symbolParams]);

type Params = z.infer<typeof params>;

/**
 * Words: the authors' tokenizer of paper A: lower case, words between whitespace, ids by frequency
 * and, of equally frequent words, by first appearance. Bytes and characters: ids by value, as paper
 * B's template has them, no padding, a split being one document.
 *
 * Outputs hold nothing of the params as such, so that one which changes no token changes no byte.
 */
export const tokenize = defineStage<Params>({
  name: "tokenize",
  params,
  inputs: { raw: {} },
  outputs: {
    tokens: { kind: "file", exactness: "exact" },
    vocabulary: { kind: "file", exactness: "exact" },
    statistics: { kind: "file", exactness: "exact" },
  },
  async run(context) {
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
        `${JSON.stringify({ source: description.source, ...statistics }, null, 2)}\n`,
      );
      context.metric("vocabulary_size", statistics.vocabularySize);
      for (const [name, { documents }] of Object.entries(statistics.splits)) {
        context.metric(`${name}_documents`, documents);
      }
    } catch (cause) {
      if (!(cause instanceof DataError)) throw cause;
      throw new StageError(cause.message, { cause });
    }
  },
});

interface Outputs {
  readonly tokens: TokenFile;
  /** Text of the vocabulary file: one word per line, so that a change shows as changed lines. */
  readonly vocabulary: string;
  readonly statistics: Tokenized["statistics"];
}

async function words(
  description: Description,
  raw: Artifact,
  params: z.infer<typeof wordParams>,
): Promise<Outputs> {
  const corpus = await openCorpus(description, raw.files);
  const { tokens, words, statistics } = await tokenizeCorpus(corpus, {
    maxLength: params.max_length,
    minFrequency: params.min_frequency,
    maxVocabulary: params.max_vocabulary,
    vocabularyOver: params.vocabulary_over,
    lowercase: params.lowercase,
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
  params: z.infer<typeof symbolParams>,
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

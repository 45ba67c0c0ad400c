/**
 * Stage `tokenize`: from raw files to token ids, a vocabulary and statistics.
 *
 * @module
 */
import { z } from "zod";
import { openCorpus } from "../data/corpus.ts";
import { DataError } from "../data/lines.ts";
import { type Description, descriptionName, descriptionSchema } from "../data/source.ts";
import { writeTokenFile } from "../data/token_file.ts";
import { tokenizeCorpus, type TokenizeOptions } from "../data/tokenize.ts";
import { firstWordId, paddingId, unknownId } from "../data/words.ts";
import { StageError } from "../pipeline/errors.ts";
import { type Artifact, defineStage } from "../pipeline/stage.ts";

const share = z.number().min(0).max(1);

const params = z.strictObject({
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
    train: z.int().min(1).optional(),
    validation: z.int().min(1).optional(),
    test: z.int().min(1).optional(),
    seed: z.int().min(0).default(0),
  }).optional(),
  /** How documents that come without a split are dealt out, each class in proportion. */
  shares: z.strictObject({
    train: share,
    validation: share.default(0),
    test: share,
    seed: z.int().min(0).default(0),
  }).refine(({ train, validation, test }) => Math.abs(train + validation + test - 1) < 1e-9, {
    error: "train, validation and test must sum to 1",
  }).default({ train: 0.8, validation: 0.1, test: 0.1, seed: 0 }),
});

type Params = z.infer<typeof params>;

/**
 * The authors' tokenizer: lower case, words between whitespace, ids by frequency and, of equally
 * frequent words, by first appearance.
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
    try {
      const corpus = await openCorpus(description, raw.files);
      const { tokens, words, statistics } = await tokenizeCorpus(corpus, optionsOf(context.params));
      writeTokenFile(context.output("tokens"), tokens);
      Deno.writeTextFileSync(context.output("vocabulary"), vocabularyText(words));
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

function optionsOf(params: Params): TokenizeOptions {
  const { subset } = params;
  return {
    maxLength: params.max_length,
    minFrequency: params.min_frequency,
    maxVocabulary: params.max_vocabulary,
    vocabularyOver: params.vocabulary_over,
    lowercase: params.lowercase,
    shares: params.shares,
    ...(subset === undefined ? {} : {
      subset: {
        seed: subset.seed,
        ...(subset.train === undefined ? {} : { train: subset.train }),
        ...(subset.validation === undefined ? {} : { validation: subset.validation }),
        ...(subset.test === undefined ? {} : { test: subset.test }),
      },
    }),
  };
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

/** One word per line: a changed vocabulary then shows as changed lines. */
function vocabularyText(words: readonly string[]): string {
  const lines = words.map((word) => `\n    ${JSON.stringify(word)}`).join(",");
  return `{\n  "padding": ${paddingId},\n  "unknown": ${unknownId},\n  "firstWord": ${firstWordId},\n` +
    `  "words": [${lines}\n  ]\n}\n`;
}

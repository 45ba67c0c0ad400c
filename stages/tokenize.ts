/**
 * Stage `tokenize`: from raw files to token ids, a vocabulary and statistics.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const share = z.number().min(0).max(1);
const max = z.int().min(1).optional();

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
  /** What is replaced by what before words are split, everywhere and in this order. */
  replace: z.array(z.tuple([z.string().min(1), z.string()])).default([]),
  /** At most how many documents of a split to keep, each class in proportion, order unchanged. */
  subset: z.strictObject({
    train: max,
    validation: max,
    test: max,
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
  subset: z.strictObject({ train: max, validation: max, test: max }).optional(),
});

const params = z.discriminatedUnion("unit", [wordParams, symbolParams]);

/** Validated params of `tokenize`. */
export type TokenizeParams = z.infer<typeof params>;
/** Those of words. */
export type WordParams = z.infer<typeof wordParams>;
/** Those of bytes and characters. */
export type SymbolParams = z.infer<typeof symbolParams>;

/**
 * Words: the authors' tokenizer of paper A: lower case, words between whitespace, ids by frequency
 * and, of equally frequent words, by first appearance. Bytes and characters: ids by value, as paper
 * B's template has them, no padding, a split being one document.
 *
 * Outputs hold nothing of the params as such, so that one which changes no token changes no byte.
 */
export const tokenize = defineStage<TokenizeParams>({
  name: "tokenize",
  params,
  inputs: { raw: {} },
  outputs: {
    tokens: { kind: "file", exactness: "exact" },
    vocabulary: { kind: "file", exactness: "exact" },
    statistics: {
      kind: "file",
      exactness: "exact",
      measures: {
        corpora: [
          ...["source", "kind", "title", "note", "documents", "tokens", "vocabulary", "classes"],
          ...["majority_share", "duplicates"],
        ],
        splits: [
          ...["split", "documents", "available", "tokens", "mean", "median", "p90", "p95", "p99"],
          ...["max", "clipped_share", "stamps_own", "stamps_other"],
        ],
        classes_by_split: ["split", "class", "class_documents"],
        duplicates: ["splits", "duplicates"],
      },
    },
  },
});

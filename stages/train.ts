/**
 * Stage `train`: trains a Transformer classifier on one corpus under one seed.
 *
 * @module
 */
import { z } from "zod";
import {
  EMBEDDING_SCALES,
  ENCODINGS,
  FUSIONS,
  fusionsWith,
  GATE_REDUCES,
} from "../models/names.ts";
import { defineStage } from "../pipeline/stage.ts";
import { checkHeads } from "./training/heads.ts";

const count = (low: number) => z.int().min(low);

const params = z.strictObject({
  fusion: z.enum(FUSIONS).describe("How token embeddings and positional encodings are fused"),
  encoding: z.enum(ENCODINGS).default("sinusoidal").describe("Positional encoding"),
  gate_taps: count(1).refine((taps) => taps % 2 === 1, "must be odd").default(3).describe(
    "Taps of gate_cnn's convolution, 2K + 1",
  ),
  gate_reduce: z.enum(GATE_REDUCES).default("none").describe(
    "gate_cnn: a gate for each feature (none) or one for all (mean)",
  ),
  concat_bias: z.boolean().default(true).describe(
    "concat: a bias, as in the notebooks; the paper's equation has none",
  ),
  embedding_scale: z.enum(EMBEDDING_SCALES).default("sqrt_d").describe(
    "What token embeddings are multiplied with: √d, as in the notebooks, or nothing",
  ),
  max_distance: count(1).default(16).describe("relative_attention: K, where distances are clipped"),
  protocol: z.enum(["paper", "authors-code"]).default("paper").describe(
    "authors-code: operators share no initial weights under one seed; see docs/protocols.md",
  ),
  seed: count(0).describe("Fixes initial weights, validation split, batches and dropout"),
  d_model: count(1).default(256).describe("Features of a token"),
  heads: count(1).default(8).describe("Attention heads; divides d_model"),
  layers: count(1).default(4).describe("Encoder blocks"),
  d_ff: count(1).default(1024).describe("Hidden features of a block's feed-forward part"),
  activation: z.enum(["gelu", "relu"]).default("gelu"),
  dropout: z.number().min(0).lt(1).default(0.1).describe("Probability"),
  batch: count(1).default(64).describe("Documents in a step"),
  epochs: count(1).default(20).describe("Passes over the training documents, at most"),
  optimizer: z.enum(["adamw", "adam"]).default("adamw"),
  learning_rate: z.number().positive().default(3e-4).describe("Per step"),
  weight_decay: z.number().min(0).default(0).describe("Per step, times the learning rate"),
  clip_norm: z.number().positive().nullable().default(1).describe("Largest gradient norm, or null"),
  validation_share: z.number().gt(0).lt(1).default(0.1).describe(
    "Share of the training documents kept for validation where the corpus has no such split",
  ),
  patience: count(1).nullable().default(null).describe(
    "Epochs without a better validation accuracy after which to stop, or null for never",
  ),
  min_delta: z.number().min(0).default(0).describe("Gain in accuracy that patience counts"),
  chunk_tokens: count(1).default(4096).describe("Tokens in memory at once; bounds memory"),
  checkpoint_every: count(1).default(200).describe("Steps between checkpoints"),
})
  .superRefine(checkHeads)
  .superRefine(({ fusion, encoding }, context) => {
    const fusions = fusionsWith(encoding);
    if (fusions.includes(fusion)) return;
    const message = `must be ${fusions.join(" or ")} where the encoding is ${encoding}, whose ` +
      "positions enter the attention (leave the rest out with exclude)";
    context.addIssue({ code: "custom", path: ["fusion"], message });
  });

/** Validated params of `train`. */
export type TrainParams = z.infer<typeof params>;

/**
 * The best epoch is that of the highest validation accuracy, the first of equals. Which optimizer and
 * schedule an experiment sets, and why, is in docs/protocols.md.
 */
export const train = defineStage<TrainParams>({
  name: "train",
  params,
  inputs: { tokens: {} },
  outputs: {
    weights: { kind: "file", exactness: "numeric" },
    history: {
      kind: "file",
      exactness: "numeric",
      measures: {
        runs: ["protocol", "parameters", "epochs", "best_epoch", "steps"],
        curve: ["epoch", "train_loss", "validation_loss", "validation_accuracy"],
      },
    },
  },
  numeric: true,
  checkpoints: true,
  // A resumed run has the bits of an uninterrupted one.
  operational: ["checkpoint_every"],
});

/**
 * Stage `train_language`: trains a character language model with predicted intensities of attention on
 * one text under one seed.
 *
 * @module
 */
import { z } from "zod";
import { PREDICTOR_INPUTS, RUNS } from "../models/intensity_runs.ts";
import { defineStage } from "../pipeline/stage.ts";
import { checkHeads } from "./training/heads.ts";

const count = (low: number) => z.int().min(low);

const params = z.strictObject({
  run: count(0).max(RUNS.length - 1).describe("The paper's run: 0 without intensity, 1 to 4 with"),
  bypass: z.boolean().default(false).describe("Keep the predictors, but leave their factors out"),
  predictor_input: z.enum(PREDICTOR_INPUTS).default("normalised").describe(
    "What a predictor of intensity reads: the block's normalised input, or the residual stream",
  ),
  predictor_layers: count(1).nullable().default(null).describe(
    "Hidden layers of a predictor, or null for the paper's: 1 without position, 2 with it",
  ),
  keep: z.enum(["best", "last"]).default("best").describe(
    "Weights that are kept: those of the lowest validation loss, or the last",
  ),
  seed: count(0).describe("Fixes initial weights, batches and dropout"),
  d_model: count(4).default(384).describe("Features of a token"),
  heads: count(1).default(6).describe("Attention heads; divides d_model"),
  layers: count(1).default(6).describe("Decoder blocks"),
  context: count(1).default(256).describe("Tokens of a sequence"),
  dropout: z.number().min(0).lt(1).default(0.2).describe("Probability"),
  batch: count(1).default(64).describe("Sequences in a step"),
  iterations: count(1).default(5000).describe("Steps"),
  learning_rate: z.number().positive().default(1e-3).describe("Peak, per step"),
  min_learning_rate: z.number().min(0).default(1e-4).describe("After the decay, per step"),
  warmup: count(0).default(100).describe("Steps over which the learning rate rises from 0"),
  decay_until: count(1).nullable().default(null).describe(
    "Step at which the decay ends, or null for the last",
  ),
  weight_decay: z.number().min(0).default(0.1).describe("Of matrices, times the learning rate"),
  beta2: z.number().min(0).lt(1).default(0.99).describe("AdamW's second decay rate"),
  clip_norm: z.number().positive().nullable().default(1).describe("Largest gradient norm, or null"),
  eval_every: count(1).default(250).describe("Steps between evaluations"),
  eval_batches: count(1).default(200).describe("Random batches of an evaluation, for each split"),
  chunk_tokens: count(1).default(4096).describe("Tokens in memory at once; bounds memory"),
  checkpoint_every: count(1).default(250).describe("Steps between checkpoints"),
}).superRefine(checkHeads);

/** Validated params of `train_language`. */
export type TrainLanguageParams = z.infer<typeof params>;

/**
 * Trains by the paper's protocol: random excerpts, AdamW with decay of matrices alone, a learning
 * rate that rises and then falls along a cosine, best weights by validation loss.
 *
 * What that leaves open is done as in nanoGPT: docs/protocols.md.
 */
export const trainLanguage = defineStage<TrainLanguageParams>({
  name: "train_language",
  params,
  inputs: { tokens: {} },
  outputs: {
    weights: { kind: "file", exactness: "numeric" },
    history: {
      kind: "file",
      exactness: "numeric",
      measures: {
        runs: ["parameters", "steps", "best_iteration", "best_validation_loss"],
        curve: ["iteration", "train_loss", "validation_loss"],
      },
    },
  },
  numeric: true,
  checkpoints: true,
  // A resumed run has the bits of an uninterrupted one.
  operational: ["checkpoint_every"],
});

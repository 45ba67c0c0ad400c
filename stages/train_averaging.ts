/**
 * Stage `train_averaging`: trains a deep averaging network on one corpus under one seed, and tests it.
 *
 * @module
 */
import { z } from "zod";
import { defineStage } from "../pipeline/stage.ts";

const count = (low: number) => z.int().min(low);

const params = z.strictObject({
  depth: count(0).default(3).describe("Layers between the average and the output"),
  d_model: count(1).default(300).describe("Numbers of an embedding, and units of a layer"),
  word_dropout: z.number().min(0).lt(1).default(0.3).describe(
    "Probability of leaving a word of a document out; in steps of 2⁻¹⁶",
  ),
  rho: z.number().min(0).default(1e-4).describe(
    "Weight of half the squared parameters in the cost of a batch, which is a sum over documents",
  ),
  repeats: z.enum(["all", "once"]).default("all").describe(
    "How often a word that a document repeats counts in the gradient of its embedding",
  ),
  seed: count(0).describe("Fixes initial weights, validation documents, batches and dropout"),
  batch: count(1).default(15).describe("Documents in a step"),
  epochs: count(1).default(5).describe("Passes over the training documents"),
  learning_rate: z.number().positive().default(0.005).describe("AdaGrad's, per step"),
  epsilon: z.number().positive().default(1e-3).describe(
    "What AdaGrad adds to the root of the summed squares",
  ),
  reset_every: count(1).default(50).describe(
    "Epochs after which AdaGrad's sums start from 0 again",
  ),
  validation_share: z.number().min(0).lt(1).default(0).describe(
    "Share of the training documents kept for validation where the corpus has no such split",
  ),
  checkpoint_every: count(1).default(5000).describe("Steps between checkpoints"),
});

/** Validated params of `train_averaging`. */
export type TrainAveragingParams = z.infer<typeof params>;

/**
 * Trains as github.com/miyyer/dan does, whose defaults are the params', and classifies the test
 * documents with the weights of the last epoch. Those are not kept: they are most of a gigabyte's
 * quarter, nearly all embeddings.
 *
 * It computes in WebAssembly and portable functions on any machine, so that its outputs are exact.
 */
export const trainAveraging = defineStage<TrainAveragingParams>({
  name: "train_averaging",
  params,
  inputs: { tokens: {} },
  outputs: {
    metrics: {
      kind: "file",
      exactness: "exact",
      measures: {
        runs: [
          ...[
            "accuracy",
            "loss_nats",
            "correct",
            "documents",
            "epochs",
            "steps",
            "batch",
            "d_model",
          ],
          "parameters",
        ],
        curve: ["epoch", "train_loss", "validation_loss", "validation_accuracy"],
      },
    },
  },
  checkpoints: true,
  // A resumed run has the bits of an uninterrupted one.
  operational: ["checkpoint_every"],
});

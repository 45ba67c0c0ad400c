/** @module */
import type * as tf from "@tensorflow/tfjs";
import { classifierSpecs } from "../../models/classifier.ts";
import { gptSpecs } from "../../models/gpt.ts";
import { gptStep } from "../../models/gpt_training.ts";
import { zeroMoments } from "../../models/optimizer.ts";
import { initialParameters } from "../../models/parameters.ts";
import { trainStep } from "../../models/training.ts";
import { batchOf, isGpt, type Model, SIZES, type Step } from "./sizes.ts";

/** A step of the models in `models/`. */
export function ours(model: Model, dropoutRate: number): Step<tf.Scalar> {
  const size = SIZES[model];
  const { ids, labels } = batchOf(model);
  const shared = {
    seed: 0,
    dropoutRate,
    optimizer: { kind: "adam", learningRate: 1e-3 } as const,
  };
  let step = 0;
  if (isGpt(model)) {
    const config = { ...size, context: size.length, bypass: false };
    const parameters = initialParameters(gptSpecs(config), { seed: 0 });
    const moments = zeroMoments(parameters);
    const excerpts = { sequences: { ids, length: size.length }, next: labels };
    return () => gptStep(parameters, { config, excerpts, step: ++step, moments, ...shared });
  }
  const config = {
    ...size,
    fusion: "add",
    gateTaps: 3,
    gateReduce: "none",
    encoding: "sinusoidal",
    maxDistance: 8,
    maxLength: size.length,
    activation: "gelu",
  } as const;
  const parameters = initialParameters(classifierSpecs(config), { seed: 0 });
  const moments = zeroMoments(parameters);
  const offsets = Int32Array.from({ length: size.batch + 1 }, (_, i) => i * size.length);
  const step1 = {
    config,
    documents: { labels, offsets, ids },
    chosen: labels.map((_, i) => i),
    moments,
    chunkTokens: ids.length,
    ...shared,
  };
  return () => trainStep(parameters, { ...step1, step: ++step });
}

import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { type ClassifierConfig, classifierSpecs } from "../../models/classifier.ts";
import { FUSIONS } from "../../models/names.ts";
import { type GptConfig, gptSpecs } from "../../models/gpt.ts";
import { excerpts, gptStep } from "../../models/gpt_training.ts";
import { RUNS } from "../../models/intensity_runs.ts";
import { type Moments, zeroMoments } from "../../models/optimizer.ts";
import {
  disposeParameters,
  initialParameters,
  type Parameters,
  type ParameterSpec,
} from "../../models/parameters.ts";
import { integers, streamKey } from "../../models/random.ts";
import { trainStep } from "../../models/training.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn, worstRelative } from "./rig.ts";

const classifier: ClassifierConfig = {
  fusion: "gate_scalar",
  gateTaps: 3,
  gateReduce: "none",
  maxDistance: 3,
  encoding: "sinusoidal",
  vocabulary: 40,
  maxLength: 20,
  classes: 4,
  d: 16,
  heads: 4,
  layers: 2,
  dFf: 32,
  activation: "gelu",
};
const offsets = [0, 3, 20, 21, 33, 40, 52, 55, 70];
const documents = {
  offsets,
  ids: integers(streamKey(0, "ids"), 70, 40),
  labels: [0, 1, 2, 3, 3, 1, 0, 2],
};
const gpt: GptConfig = {
  vocabulary: 12,
  context: 8,
  d: 16,
  heads: 2,
  layers: 2,
  intensity: RUNS[4],
  bypass: false,
};
const text = integers(streamKey(0, "text"), 300, 12);

type Step = (
  parameters: Parameters,
  moments: Map<string, Moments>,
  chunkTokens: number,
) => tf.Scalar;

/**
 * The gradient of one step: with β₁ = 0 Adam's first moment is the gradient itself, after all
 * pieces were added and before anything is divided by its size.
 */
async function gradients(specs: ParameterSpec[], step: Step, chunkTokens: number) {
  const parameters = initialParameters(specs, { seed: 3 });
  const moments = zeroMoments(parameters);
  const loss = step(parameters, moments, chunkTokens);
  const found = new Map([["loss", (await readTensor(loss)).slice()]]);
  for (const [name, { first }] of moments) found.set(name, (await readTensor(first)).slice());
  loss.dispose();
  disposeParameters(parameters);
  for (const { first, second } of moments.values()) first.dispose(), second.dispose();
  return found;
}

async function worst(specs: ParameterSpec[], step: Step, pieces: number[]): Promise<number> {
  let most = 0;
  const reference = await gradients(specs, step, 1e6);
  for (const chunkTokens of pieces) {
    const summed = await gradients(specs, step, chunkTokens);
    assertEquals([...summed.keys()], [...reference.keys()]);
    for (const [name, values] of summed) {
      most = Math.max(most, worstRelative(values, reference.get(name)!, 1e-8));
    }
  }
  return most;
}

/** 70 terms of float32 added in another order. */
const ROUNDING = 70 * 2 ** -24;

const optimizer = { kind: "adam", learningRate: 1e-3, beta1: 0 } as const;

for (const fusion of FUSIONS) {
  const config = { ...classifier, fusion };
  const backends = fusion === "gate_scalar" || fusion === "gate_cnn"
    ? ["cpu", "wasm", "webgpu"] as const
    : ["cpu", "wasm"] as const;
  testOn(backends, `${fusion}: gradients summed in pieces are those of the batch`, async () => {
    const step: Step = (parameters, moments, chunkTokens) =>
      trainStep(parameters, {
        config,
        documents,
        chosen: [7, 0, 3, 4, 1, 2, 6, 5],
        seed: 0,
        step: 1,
        dropoutRate: 0.25,
        optimizer,
        moments,
        chunkTokens,
      });
    const difference = await worst(classifierSpecs(config), step, [1, 25]);
    assert(difference < ROUNDING, `gradients differ by ${difference}`);
  });
}

testOn(
  ["cpu", "wasm", "webgpu"],
  "a language model's gradients summed in pieces are those of the batch",
  async () => {
    const batch = excerpts(text, { count: 5, length: 8, seed: 0, name: "batch" });
    const step: Step = (parameters, moments, chunkTokens) =>
      gptStep(parameters, {
        config: gpt,
        excerpts: batch,
        seed: 0,
        step: 1,
        dropoutRate: 0.25,
        optimizer,
        moments,
        chunkTokens,
      });
    const difference = await worst(gptSpecs(gpt), step, [1, 17]);
    assert(difference < ROUNDING, `gradients differ by ${difference}`);
  },
);

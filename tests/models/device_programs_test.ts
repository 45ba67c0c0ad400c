import { assert } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { type ClassifierConfig, classifierSpecs } from "../../models/classifier.ts";
import { ENCODINGS, FUSIONS } from "../../models/names.ts";
import { type GptConfig, gptSpecs } from "../../models/gpt.ts";
import { excerpts, gptStep } from "../../models/gpt_training.ts";
import { RUNS } from "../../models/intensity_runs.ts";
import type { CheckedBackend } from "../../models/kernels/checked_backend.ts";
import { zeroMoments } from "../../models/optimizer.ts";
import { disposeParameters, initialParameters } from "../../models/parameters.ts";
import { integers, streamKey } from "../../models/random.ts";
import { trainStep } from "../../models/training.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn } from "./rig.ts";

const optimizer = { kind: "adamw", learningRate: 1e-3 } as const;

/** Every WGSL source, by the name of its program, that `work` makes the device compile. */
async function sourcesOf(work: () => tf.Tensor): Promise<Map<string, string>> {
  const { device, ...rest } = tf.backend() as CheckedBackend;
  const sources = new Map<string, string>();
  const original = device.createShaderModule;
  const cache = (rest as unknown as { pipelineCache: Record<string, unknown> }).pipelineCache;
  for (const key of Object.keys(cache)) delete cache[key];
  Object.defineProperty(device, "createShaderModule", {
    value: (descriptor: GPUShaderModuleDescriptor) => {
      const made = original.call(device, descriptor);
      // The backend labels what it makes with the program's name.
      sources.set(made.label, (sources.get(made.label) ?? "") + descriptor.code);
      return made;
    },
    configurable: true,
  });
  try {
    const result = work();
    await readTensor(result);
    result.dispose();
  } finally {
    Object.defineProperty(device, "createShaderModule", { value: original, configurable: true });
  }
  return sources;
}

/** Names of all programs that were looked at. */
const seen = new Set<string>();

function assertFixedOrder(sources: Map<string, string>): void {
  assert(sources.size > 10, `only ${sources.size} programs`);
  for (const [name, source] of sources) {
    seen.add(name);
    assert(!/atomic/i.test(source), `program ${name} adds with atomics`);
    assert(!/SplitK/.test(name), `program ${name} adds parts in any order`);
  }
}

// Long enough that tfjs, left alone, would split the products of weight gradients.
const tokens = integers(streamKey(1, "tokens"), 2400, 20);
const documents = {
  labels: Array.from({ length: 40 }, (_, i) => i % 3),
  offsets: Array.from({ length: 41 }, (_, i) => 60 * i),
  ids: tokens.map((id) => id + 1),
};
const classifier: ClassifierConfig = {
  fusion: "add",
  gateTaps: 3,
  gateReduce: "none",
  maxDistance: 3,
  encoding: "sinusoidal",
  vocabulary: 30,
  maxLength: 60,
  classes: 3,
  d: 16,
  heads: 2,
  layers: 1,
  dFf: 32,
  activation: "gelu",
};

function classifierStep(config: ClassifierConfig): tf.Tensor {
  const parameters = initialParameters(classifierSpecs(config), { seed: 1 });
  const moments = zeroMoments(parameters);
  const loss = trainStep(parameters, {
    config,
    documents,
    chosen: documents.labels.map((_, i) => i),
    seed: 1,
    step: 1,
    dropoutRate: 0.1,
    optimizer,
    moments,
    clipNorm: 1,
    chunkTokens: 10_000,
  });
  disposeParameters(parameters);
  for (const { first, second } of moments.values()) first.dispose(), second.dispose();
  return loss;
}

const variants: ClassifierConfig[] = [
  ...FUSIONS.map((fusion) => ({ ...classifier, fusion })),
  { ...classifier, fusion: "gate_cnn", gateReduce: "mean", activation: "relu" },
  ...ENCODINGS.map((encoding) => ({ ...classifier, encoding })),
];
for (const config of variants) {
  const { fusion, encoding, gateReduce } = config;
  const name = `${fusion} × ${encoding}, gate ${gateReduce}`;
  testOn(["webgpu"], `a step of ${name} adds in a fixed order`, async () => {
    assertFixedOrder(await sourcesOf(() => classifierStep(config)));
  });
}

for (const [run, intensity] of RUNS.entries()) {
  testOn(["webgpu"], `a step of language model ${run} adds in a fixed order`, async () => {
    const config: GptConfig = {
      vocabulary: 20,
      context: 60,
      d: 16,
      heads: 2,
      layers: 1,
      intensity,
      bypass: false,
    };
    const sources = await sourcesOf(() => {
      const parameters = initialParameters(gptSpecs(config), { seed: 1 });
      const moments = zeroMoments(parameters);
      const loss = gptStep(parameters, {
        config,
        excerpts: excerpts(tokens, { count: 40, length: 60, seed: 1, name: "batch" }),
        seed: 1,
        step: 1,
        dropoutRate: 0.1,
        optimizer,
        moments,
        clipNorm: 1,
      });
      disposeParameters(parameters);
      for (const { first, second } of moments.values()) first.dispose(), second.dispose();
      return loss;
    });
    assertFixedOrder(sources);
  });
}

testOn(["webgpu"], "tfjs left alone would add with atomics here", async () => {
  const product = () =>
    tf.tidy(() => tf.matMul(tf.ones([2400, 16]), tf.ones([2400, 16]), true, false));
  const kept = tf.env().getNumber("WEBGPU_MATMUL_PROGRAM_TYPE");
  tf.env().set("WEBGPU_MATMUL_PROGRAM_TYPE", -1);
  const sources = await sourcesOf(product);
  tf.env().set("WEBGPU_MATMUL_PROGRAM_TYPE", kept);
  assert([...sources.values()].some((source) => /atomicCompareExchange/.test(source)));
  assert([...sources.keys()].includes("MatMulSplitKProgram"));
});

testOn(["webgpu"], "the steps above reach every kind of sum that a shader of ours takes", () => {
  const kinds = [
    "attention.8.dropout",
    "attention.8.dropout.relative",
    "attention.8.causal.dropout",
    "attentionKeys.8.dropout.relative",
    "attentionQueries.8.dropout.relative",
    "attentionTables",
    "blockSums",
    "crossEntropy",
    "crossEntropyGradient",
    "layerNorm",
    "layerNormBiased",
    "layerNormGain",
    "layerNormGradient",
    "sumRows",
    "total",
  ];
  for (const kind of kinds) assert(seen.has(`lockstep.${kind}`), `${kind} was not met`);
  for (const family of ["product", "squares", "adam", "clip"]) {
    assert([...seen].some((name) => name.startsWith(`lockstep.${family}.`)), `no ${family}`);
  }
});

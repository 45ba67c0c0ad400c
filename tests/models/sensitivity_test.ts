/**
 * What the papers leave open, as options of their models.
 *
 * @module
 */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { packBatch } from "../../models/batch.ts";
import { type ClassifierConfig, classifierSpecs, classify } from "../../models/classifier.ts";
import { generate } from "../../models/generation.ts";
import { type GptConfig, gptSpecs, predictNext } from "../../models/gpt.ts";
import { hiddenLayersOf, RUNS } from "../../models/intensity_runs.ts";
import {
  disposeParameters,
  initialParameters,
  type Parameters,
  parametersFrom,
  readParameters,
} from "../../models/parameters.ts";
import type { StoredTensor } from "../../models/safetensors.ts";
import { gptFile, gptFrom, trainedFile, trainedFrom } from "../../models/weights.ts";
import { readTensor } from "../../models/webgpu.ts";
import { documentsOf, testOn, worstRelative } from "./rig.ts";

const tiny: ClassifierConfig = {
  fusion: "concat",
  gateTaps: 3,
  gateReduce: "none",
  maxDistance: 3,
  encoding: "sinusoidal",
  vocabulary: 30,
  maxLength: 9,
  classes: 4,
  d: 16,
  heads: 4,
  layers: 1,
  dFf: 32,
  activation: "gelu",
};
const documents = documentsOf({ documents: [[1, 2, 3], [4, 5], [6, 7, 8, 9]], labels: [0, 1, 2] });

async function logits(config: ClassifierConfig, parameters: Parameters): Promise<Float32Array> {
  const batch = packBatch(documents, [0, 1, 2]);
  const out = tf.tidy(() => classify(config, parameters, { batch }).logits);
  const values = (await readTensor(out)).slice();
  out.dispose();
  return Float32Array.from(values);
}

/** The weights of a config, one of them changed. */
async function changed(
  from: ClassifierConfig,
  to: ClassifierConfig,
  { name, change }: { name: string; change: (values: StoredTensor) => StoredTensor },
): Promise<[Parameters, Parameters]> {
  const parameters = initialParameters(classifierSpecs(from), { seed: 5 });
  const stored = new Map<string, StoredTensor>(await readParameters(parameters));
  const given = stored.get(name);
  if (given !== undefined) stored.set(name, change(given));
  return [parameters, parametersFrom(classifierSpecs(to), stored)];
}

testOn(["wasm"], "embeddings that are not scaled are √d times as small", async () => {
  const plain: ClassifierConfig = { ...tiny, embeddingScale: "one" };
  const [scaled, unscaled] = await changed(tiny, plain, {
    name: "embedding",
    change: (tensor) => ({ ...tensor, values: tensor.values.map((x) => x * 4) }),
  });
  const [expected, found] = [await logits(tiny, scaled), await logits(plain, unscaled)];
  assert(worstRelative(found, expected) < 1e-6);
  assert(worstRelative(await logits(plain, scaled), expected) > 1e-3, "the scale matters");
  disposeParameters(scaled);
  disposeParameters(unscaled);
});

testOn(["wasm"], "concat without a bias is concat with a bias of zero", async () => {
  const bare: ClassifierConfig = { ...tiny, concatBias: false };
  const names = classifierSpecs(bare).map(({ name }) => name);
  assertEquals(names.includes("fusion.bias"), false);
  assertEquals(classifierSpecs(tiny).length, names.length + 1);
  const [without, zero] = await changed(tiny, tiny, {
    name: "fusion.bias",
    change: (tensor) => ({ ...tensor, values: tensor.values.map(() => 0) }),
  });
  const kept = new Map(await readParameters(without));
  kept.delete("fusion.bias");
  const own = parametersFrom(classifierSpecs(bare), kept);
  assertEquals(await logits(bare, own), await logits(tiny, zero));
  for (const each of [without, zero, own]) disposeParameters(each);
});

Deno.test("weights say how their model differs from the usual, and only then", () => {
  const own: ClassifierConfig = { ...tiny, concatBias: false, embeddingScale: "one" };
  assertEquals(trainedFrom(trainedFile({ config: own, seed: 1 }, new Map())).config, own);
  const usual = trainedFile(
    { config: { ...tiny, concatBias: true, embeddingScale: "sqrt_d" }, seed: 1 },
    new Map(),
  );
  assertEquals(usual.metadata, trainedFile({ config: tiny, seed: 1 }, new Map()).metadata);
  const config: GptConfig = {
    ...gpt(4),
    intensity: { ...RUNS[4]!, input: "residual", hiddenLayers: 3 },
  };
  assertEquals(gptFrom(gptFile({ config, run: 4, seed: 1 }, new Map())).config, config);
  assertEquals(gptFrom(gptFile({ config: gpt(0), run: 0, seed: 1 }, new Map())).config, gpt(0));
});

function gpt(run: number): GptConfig {
  return {
    ...{ vocabulary: 5, context: 8, d: 16, heads: 2, layers: 2 },
    ...{ intensity: RUNS[run], bypass: false },
  };
}

const sequences = { ids: Int32Array.from([1, 2, 3, 4, 0, 1]), length: 6 };

async function next(config: GptConfig, parameters: Parameters): Promise<number[]> {
  const out = tf.tidy(() => predictNext(config, parameters, { sequences }));
  const values = Array.from(await readTensor(out));
  out.dispose();
  return values;
}

testOn(
  ["wasm"],
  "predictors have as many hidden layers as asked for, by default the paper's",
  async () => {
    for (const run of [1, 3, 4]) {
      const own = RUNS[run]!;
      const named: GptConfig = {
        ...gpt(run),
        intensity: { ...own, input: "normalised", hiddenLayers: hiddenLayersOf(own) },
      };
      assertEquals(gptSpecs(named), gptSpecs(gpt(run)));
      const parameters = initialParameters(gptSpecs(named), { seed: 2 });
      assertEquals(await next(named, parameters), await next(gpt(run), parameters));
      disposeParameters(parameters);
      for (const layers of [1, 2, 3]) {
        const config = { ...named, intensity: { ...own, hiddenLayers: layers } };
        const hidden = gptSpecs(config).filter(({ name }) =>
          /^block\.0\.intensity\.hidden\d*\.weight$/.test(name)
        );
        assertEquals(hidden.length, layers, `run ${run}`);
      }
    }
  },
);

testOn(
  ["wasm"],
  "a predictor that reads the residual stream gives other factors, with a cache too",
  async () => {
    for (const run of [1, 4]) {
      const config: GptConfig = { ...gpt(run), intensity: { ...RUNS[run]!, input: "residual" } };
      const parameters = initialParameters(
        gptSpecs(config).map((spec) => ({ ...spec, initial: { kind: "normal", deviation: 0.4 } })),
        { seed: 4 },
      );
      const differs = worstRelative(
        await next(config, parameters),
        await next(gpt(run), parameters),
      );
      assert(differs > 1e-3, `run ${run}: ${differs}`);
      const options = {
        ...{ config, prompt: [1, 2], tokens: 20, temperature: 0.8, topK: 4 },
        ...{ seed: 9, name: "generate/0" },
      };
      const plain = await generate(parameters, { ...options, cache: false });
      assertEquals(await generate(parameters, { ...options, cache: true }), plain);
      disposeParameters(parameters);
    }
  },
);

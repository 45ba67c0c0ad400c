import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { startBackend } from "../../models/backend.ts";
import { packBatch } from "../../models/batch.ts";
import { type ClassifierConfig, classifierSpecs, classify } from "../../models/classifier.ts";
import { FUSIONS } from "../../models/names.ts";
import { crossEntropy } from "../../models/operations/cross_entropy.ts";
import { zeroMoments } from "../../models/optimizer.ts";
import {
  disposeParameters,
  initialParameters,
  initialValue,
  parametersFrom,
  readParameters,
} from "../../models/parameters.ts";
import { decodeTensors, encodeTensors } from "../../models/safetensors.ts";
import { lossGradients, measure, trainStep } from "../../models/training.ts";
import { readTensor } from "../../models/webgpu.ts";
import { trainedFile, trainedFrom } from "../../models/weights.ts";
import fixtures from "../reference/pytorch/classifier.json" with { type: "json" };
import { documentsOf, testOn, worstRelative } from "./rig.ts";

type Case = typeof fixtures.cases[number];

type Stored = Record<string, { shape: number[]; values: number[] }>;

function stored(values: Stored) {
  return new Map(
    Object.entries(values).map(([name, { shape, values }]) => [
      name,
      { shape, values: Float32Array.from(values) },
    ]),
  );
}

function loaded(from: Case) {
  const config = {
    ...from.shape,
    fusion: from.fusion,
    encoding: from.encoding,
    activation: from.activation,
    gateReduce: from.gateReduce,
    gateTaps: fixtures.gateTaps,
    maxDistance: fixtures.maxDistance,
  } as ClassifierConfig;
  const parameters = parametersFrom(classifierSpecs(config), stored(from.weights as Stored));
  const documents = documentsOf(from);
  return { config, parameters, documents, chosen: from.labels.map((_, i) => i) };
}

const label = (c: Case) =>
  `${c.fusion}${
    c.gateReduce === "mean" ? " (mean)" : ""
  } × ${c.encoding}, ${c.activation}, ${c.optimizer}`;

/**
 * A parameter's values, or its gradient's, in parts that are each compared at their own scale. Softmax
 * does not see a key's bias, unless positions turn it: its gradient is of rounding size.
 */
function partsOf(
  name: string,
  { encoding, values }: { encoding: string; values: ArrayLike<number> },
) {
  const all = Array.from(values);
  if (!name.endsWith("attention.in.bias")) return [{ part: name, values: all, seen: true }];
  const d = all.length / 3;
  return ["queries", "keys", "values"].map((of, i) => ({
    part: `${name} (${of})`,
    values: all.slice(i * d, (i + 1) * d),
    seen: of !== "keys" || encoding === "rope_attention",
  }));
}

function compareGradients(
  name: string,
  { encoding, found, expected }: {
    encoding: string;
    found: ArrayLike<number>;
    expected: ArrayLike<number>;
  },
): void {
  const parts = partsOf(name, { encoding, values: found });
  partsOf(name, { encoding, values: expected }).forEach(({ part, values, seen }, i) => {
    const worst = worstRelative(parts[i]!.values, values, seen ? 0 : 1);
    assert(worst < (seen ? 2e-5 : 2e-7), `gradients of ${part} differ by ${worst}`);
  });
}

for (const reference of fixtures.cases) {
  const backends = ["cpu", "wasm", "wasm+fma", "webgpu"] as const;
  const { encoding } = reference;
  testOn(backends, `${label(reference)}: outputs and gradients equal PyTorch's`, async () => {
    const { config, parameters, documents, chosen } = loaded(reference);
    const batch = packBatch(documents, chosen);
    const logits = tf.tidy(() => classify(config, parameters, { batch }).logits);
    const worstLogit = worstRelative(await readTensor(logits), reference.logits);
    assert(worstLogit < 1e-5, `logits differ by ${worstLogit}`);
    const { loss, gradients } = tf.tidy(() => {
      const both = lossGradients(parameters, {
        config,
        documents,
        piece: chosen,
        divisor: chosen.length,
        seed: 0,
        step: 1,
        dropoutRate: 0,
      });
      return { loss: both.loss, gradients: Object.fromEntries(both.gradients) };
    });
    const difference = Math.abs((await readTensor(loss))[0]! - reference.losses[0]!);
    assert(difference < 1e-5, `losses differ by ${difference}`);
    const expected = reference.gradients as unknown as Stored;
    assertEquals(Object.keys(gradients).sort(), Object.keys(expected).sort());
    for (const [name, gradient] of Object.entries(gradients)) {
      const found = await readTensor(gradient);
      compareGradients(name, { encoding, found, expected: expected[name]!.values });
    }
    tf.dispose([logits, loss, gradients as unknown as tf.Tensor]);
    disposeParameters(parameters);
  });

  testOn(backends, `${label(reference)}: every step ends where PyTorch's does`, async () => {
    const { config, parameters, documents, chosen } = loaded(reference);
    const moments = zeroMoments(parameters);
    for (let step = 1; step <= reference.losses.length; step++) {
      const loss = trainStep(parameters, {
        config,
        documents,
        chosen,
        seed: 0,
        step,
        dropoutRate: 0,
        optimizer: {
          kind: reference.optimizer as "adam" | "adamw",
          learningRate: reference.learningRate,
          weightDecay: reference.weightDecay,
        },
        moments,
        clipNorm: reference.clipNorm ?? undefined,
        chunkTokens: step === 2 ? 6 : 1000,
      });
      const difference = Math.abs((await readTensor(loss))[0]! - reference.losses[step - 1]!);
      assert(difference < 5e-6, `losses of step ${step} differ by ${difference}`);
      loss.dispose();
    }
    const expected = reference.trained as unknown as Stored;
    for (const [name, parameter] of parameters) {
      const parts = partsOf(name, { encoding, values: expected[name]!.values });
      const found = partsOf(name, { encoding, values: await readTensor(parameter) });
      parts.forEach(({ part, values, seen }, i) => {
        // A gradient of rounding size has no sign to agree on.
        if (!seen) return;
        // One step moves a weight by about 3e-3: a sign error would show as 0.006.
        const worst = Math.max(...values.map((x, j) => Math.abs(x - found[i]!.values[j]!)));
        assert(worst < 2e-5, `${part} differs by ${worst}`);
      });
    }
    disposeParameters(parameters);
    for (const { first, second } of moments.values()) first.dispose(), second.dispose();
  });
}

const tiny: ClassifierConfig = {
  fusion: "gate_scalar",
  gateTaps: 3,
  gateReduce: "none",
  maxDistance: 3,
  encoding: "sinusoidal",
  vocabulary: 30,
  maxLength: 9,
  classes: 4,
  d: 16,
  heads: 4,
  layers: 2,
  dFf: 32,
  activation: "gelu",
};

const eight = documentsOf({
  documents: Array.from(
    { length: 8 },
    (_, i) => Array.from({ length: 2 + (i * 5) % 8 }, (_, t) => 1 + (i * 7 + t * t * 3) % 29),
  ),
  labels: [0, 1, 2, 3, 3, 1, 0, 2],
});
const all = [0, 1, 2, 3, 4, 5, 6, 7];

testOn(["wasm"], "training fits eight examples by heart and leaks no tensor", async () => {
  const before = tf.memory().numTensors;
  const parameters = initialParameters(classifierSpecs(tiny), { seed: 3 });
  const moments = zeroMoments(parameters);
  let held = 0;
  for (let step = 1; step <= 120; step++) {
    trainStep(parameters, {
      config: tiny,
      documents: eight,
      chosen: all,
      seed: 3,
      step,
      dropoutRate: 0.1,
      optimizer: { kind: "adamw", learningRate: 5e-3 },
      moments,
      clipNorm: 1,
      chunkTokens: 20,
    }).dispose();
    if (step === 1) held = tf.memory().numTensors;
  }
  assertEquals(tf.memory().numTensors, held);
  const result = await measure(parameters, {
    config: tiny,
    documents: eight,
    chosen: all,
    chunkTokens: 20,
  });
  assertEquals(result.correct, 8);
  assert(result.lossNats < 0.05, `loss ${result.lossNats}`);
  assertEquals(tf.memory().numTensors, held);
  disposeParameters(parameters);
  for (const { first, second } of moments.values()) first.dispose(), second.dispose();
  assertEquals(tf.memory().numTensors, before);
});

testOn(["wasm"], "saved and loaded weights classify alike", async () => {
  const parameters = initialParameters(classifierSpecs(tiny), { seed: 1 });
  const options = { config: tiny, documents: eight, chosen: all, chunkTokens: 100 };
  const before = await measure(parameters, options);
  const bytes = encodeTensors(
    trainedFile({ config: tiny, seed: 1 }, await readParameters(parameters)),
  );
  const file = decodeTensors(bytes);
  assertEquals(trainedFrom(file), { config: tiny, seed: 1 });
  const again = parametersFrom(classifierSpecs(tiny), file.tensors);
  assertEquals(await measure(again, options), before);
  disposeParameters(parameters);
  disposeParameters(again);
});

testOn(["wasm"], "a document is classified alike alone and among others", async () => {
  const parameters = initialParameters(classifierSpecs(tiny), { seed: 1 });
  const logits = async (chosen: number[]) => {
    const out = tf.tidy(() =>
      classify(tiny, parameters, { batch: packBatch(eight, chosen) }).logits
    );
    const values = await readTensor(out);
    out.dispose();
    return values;
  };
  const together = await logits(all);
  for (const i of all) {
    const worst = worstRelative(await logits([i]), together.subarray(i * 4, i * 4 + 4));
    assert(worst < 1e-6, `document ${i} differs by ${worst}`);
  }
  disposeParameters(parameters);
});

Deno.test("models of one seed share the start of every parameter they have in common", () => {
  const configs = FUSIONS.map((fusion) => ({ ...tiny, fusion }));
  const starts = configs.map((config) =>
    new Map(classifierSpecs(config).map((spec) => [spec.name, initialValue(spec, { seed: 7 })]))
  );
  const names = new Set(starts.flatMap((start) => [...start.keys()]));
  let compared = 0;
  for (const name of names) {
    if (name.startsWith("fusion.")) continue;
    for (const start of starts) assertEquals(start.get(name), starts[0]!.get(name), name);
    compared++;
  }
  assertEquals(compared, classifierSpecs({ ...tiny, fusion: "add" }).length);
  const weight = classifierSpecs(tiny).find((spec) => spec.name === "encoder.0.ff1.weight")!;
  assert(String(initialValue(weight, { seed: 7 })) !== String(initialValue(weight, { seed: 8 })));
});

Deno.test("models of different variants share no start", () => {
  const [embedding] = classifierSpecs(tiny);
  const start = (variant?: string) => String(initialValue(embedding!, { seed: 7, variant }));
  assert(start("add") !== start("concat") && start("add") !== start());
});

Deno.test("weights that do not fit the model are refused", () => {
  const specs = classifierSpecs(tiny);
  const values = new Map(
    specs.map((
      spec,
    ) => [spec.name, { shape: spec.shape, values: initialValue(spec, { seed: 0 }) }]),
  );
  const without = new Map(values);
  without.delete("embedding");
  assertThrows(() => parametersFrom(specs, without), RangeError, 'parameter "embedding"');
  values.set("more", { shape: [1], values: new Float32Array(1) });
  assertThrows(() => parametersFrom(specs, values), RangeError, "more");
});

testOn(["cpu", "wasm"], "cross-entropy of certain and of even odds is 0 and ln K", async () => {
  const loss = async (logits: number[]) => {
    const tensor = tf.tensor2d(logits, [1, 3]);
    const value = crossEntropy(tensor, Int32Array.of(1));
    const [x] = await readTensor(value);
    tf.dispose([tensor, value]);
    return x!;
  };
  assertEquals(await loss([0, 200, 0]), 0);
  assert(Math.abs(await loss([5, 5, 5]) - Math.log(3)) < 1e-6);
});

const withDropout = {
  config: tiny,
  documents: eight,
  piece: all,
  divisor: 8,
  seed: 5,
  step: 7,
  dropoutRate: 0.25,
};

async function dropoutGradients(): Promise<Map<string, Float32Array>> {
  const parameters = initialParameters(classifierSpecs(tiny), { seed: 2 });
  const gradients = tf.tidy(() =>
    Object.fromEntries(lossGradients(parameters, withDropout).gradients)
  );
  const values = new Map<string, Float32Array>();
  for (const [name, gradient] of Object.entries(gradients)) {
    values.set(name, (await readTensor(gradient)).slice());
    gradient.dispose();
  }
  disposeParameters(parameters);
  return values;
}

testOn(["wasm", "webgpu"], "gradients under dropout are those of plain loops", async (backend) => {
  const found = await dropoutGradients();
  await startBackend("cpu");
  const expected = await dropoutGradients();
  await startBackend(backend);
  for (const [name, values] of found) {
    compareGradients(name, {
      encoding: tiny.encoding,
      found: values,
      expected: expected.get(name)!,
    });
  }
});

testOn(["cpu", "wasm", "webgpu"], "the same step gives the same bits twice", async () => {
  assertEquals(await dropoutGradients(), await dropoutGradients());
});

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { generate, sample } from "../../models/generation.ts";
import { type GptConfig, gptSpecs, predictNext } from "../../models/gpt.ts";
import { excerpts, gptGradients, gptStep, meanLoss } from "../../models/gpt_training.ts";
import { RUNS } from "../../models/intensity_runs.ts";
import { cosineRate, zeroMoments } from "../../models/optimizer.ts";
import {
  disposeParameters,
  initialParameters,
  initialValue,
  parametersFrom,
} from "../../models/parameters.ts";
import { streamKey, words } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import fixtures from "../reference/pytorch/gpt.json" with { type: "json" };
import { testOn, worstRelative } from "./rig.ts";

type Case = typeof fixtures.cases[number];
type Stored = Record<string, { shape: number[]; values: number[] }>;

function loaded(reference: Case) {
  const config: GptConfig = {
    ...fixtures.shape,
    intensity: RUNS[reference.run],
    bypass: reference.bypass,
  };
  const weights = Object.entries(reference.weights as Stored).map(([name, { shape, values }]) =>
    [name, { shape, values: Float32Array.from(values) }] as const
  );
  const parameters = parametersFrom(gptSpecs(config), new Map(weights));
  const sequences = { ids: Int32Array.from(reference.ids), length: fixtures.shape.context };
  return { config, parameters, excerpts: { sequences, next: Int32Array.from(reference.next) } };
}

const label = ({ run, bypass }: Case) => `run ${run}${bypass ? ", bypassed" : ""}`;

for (const reference of fixtures.cases) {
  const backends = ["cpu", "wasm", "wasm+fma", "webgpu"] as const;
  testOn(backends, `${label(reference)}: outputs and gradients equal PyTorch's`, async () => {
    const { config, parameters, excerpts } = loaded(reference);
    const logits = tf.tidy(() => predictNext(config, parameters, excerpts));
    const worstLogit = worstRelative(await readTensor(logits), reference.logits);
    assert(worstLogit < 1e-5, `logits differ by ${worstLogit}`);
    const { loss, gradients } = tf.tidy(() => {
      const both = gptGradients(parameters, {
        config,
        excerpts,
        divisor: excerpts.next.length,
      });
      return { loss: both.loss, gradients: Object.fromEntries(both.gradients) };
    });
    assert(Math.abs((await readTensor(loss))[0]! - reference.losses[0]!) < 1e-5);
    const expected = reference.gradients as unknown as Stored;
    assertEquals(Object.keys(gradients).sort(), Object.keys(expected).sort());
    for (const [name, gradient] of Object.entries(gradients)) {
      const worst = worstRelative(await readTensor(gradient), expected[name]!.values, 0);
      assert(worst < 2e-5, `gradients of ${name} differ by ${worst}`);
    }
    tf.dispose([logits, loss, gradients as unknown as tf.Tensor]);
    disposeParameters(parameters);
  });

  testOn(backends, `${label(reference)}: every step ends where PyTorch's does`, async () => {
    const { config, parameters, excerpts } = loaded(reference);
    const moments = zeroMoments(parameters);
    const moving = reference.losses.filter((_, i) => cosineRate(i, fixtures.schedule) > 0);
    assert(moving.length >= 5, "too few steps move weights");
    for (let step = 1; step <= reference.losses.length; step++) {
      const loss = gptStep(parameters, {
        config,
        excerpts,
        seed: 0,
        step,
        dropoutRate: 0,
        optimizer: {
          kind: "adamw",
          learningRate: cosineRate(step - 1, fixtures.schedule),
          weightDecay: 0.1,
          decayRank: 2,
          beta2: 0.99,
        },
        moments,
        clipNorm: 1,
        chunkTokens: step === 3 ? 2 * fixtures.shape.context : 1000,
      });
      const difference = Math.abs((await readTensor(loss))[0]! - reference.losses[step - 1]!);
      assert(difference < 5e-6, `losses of step ${step} differ by ${difference}`);
      loss.dispose();
    }
    const expected = reference.trained as unknown as Stored;
    for (const [name, parameter] of parameters) {
      const found = await readTensor(parameter);
      const worst = Math.max(
        ...expected[name]!.values.map((x, i) => Math.abs(x - found[i]!)),
      );
      assert(worst < 2e-5, `${name} differs by ${worst}`);
    }
    disposeParameters(parameters);
    for (const { first, second } of moments.values()) first.dispose(), second.dispose();
  });
}

Deno.test("the learning rate rises, then falls along a cosine", () => {
  const expected = fixtures.cases[0]!.rates;
  expected.forEach((rate, step) => {
    assert(Math.abs(cosineRate(step, fixtures.schedule) - rate) < 1e-12, `step ${step}`);
  });
});

const tiny: GptConfig = {
  vocabulary: 5,
  context: 8,
  d: 16,
  heads: 2,
  layers: 2,
  intensity: RUNS[4],
  bypass: false,
};
/** A text that repeats: each token is known from the one before. */
const cycle = Int32Array.from({ length: 200 }, (_, i) => [0, 1, 2, 3, 4][i % 5]!);

testOn(
  ["wasm", "webgpu"],
  "a model learns a cycle, continues it, and leaks no tensor",
  async () => {
    const before = tf.memory().numTensors;
    const parameters = initialParameters(gptSpecs(tiny), { seed: 0 });
    const moments = zeroMoments(parameters);
    for (let step = 1; step <= 80; step++) {
      gptStep(parameters, {
        config: tiny,
        excerpts: excerpts(cycle, { count: 4, length: 8, seed: 0, name: `batch/${step}` }),
        seed: 0,
        step,
        dropoutRate: 0.1,
        optimizer: { kind: "adamw", learningRate: 1e-2 },
        moments,
        clipNorm: 1,
      }).dispose();
    }
    const batches = [excerpts(cycle, { count: 4, length: 8, seed: 0, name: "eval" })];
    const loss = await meanLoss(parameters, { config: tiny, batches });
    assert(loss < 0.1, `loss ${loss}`);
    for (const cache of [true, false]) {
      const text = await generate(parameters, {
        config: tiny,
        prompt: [3],
        tokens: 20,
        temperature: 0.5,
        topK: 3,
        seed: 1,
        name: "generate/0",
        cache,
      });
      assertEquals(text, Array.from({ length: 21 }, (_, i) => (3 + i) % 5));
    }
    disposeParameters(parameters);
    for (const { first, second } of moments.values()) first.dispose(), second.dispose();
    assertEquals(tf.memory().numTensors, before);
  },
);

testOn(["cpu", "wasm"], "a cache changes no token that is drawn", async () => {
  for (const run of [0, 1, 4]) {
    const config = { ...tiny, intensity: RUNS[run] };
    const parameters = initialParameters(
      gptSpecs(config).map((spec) => ({ ...spec, initial: { kind: "normal", deviation: 0.4 } })),
      { seed: 4 },
    );
    const options = {
      config,
      prompt: [1, 2],
      tokens: 30,
      temperature: 0.8,
      topK: 4,
      seed: 9,
      name: "generate/0",
    };
    const plain = await generate(parameters, { ...options, cache: false });
    assertEquals(await generate(parameters, { ...options, cache: true }), plain);
    assert(new Set(plain).size > 2, "drew one token over and over");
    disposeParameters(parameters);
  }
});

testOn(["wasm"], "no token depends on what follows it", async () => {
  const parameters = initialParameters(gptSpecs(tiny), { seed: 2 });
  const logits = async (ids: number[]) => {
    const sequences = { ids: Int32Array.from(ids), length: ids.length };
    const out = tf.tidy(() => predictNext(tiny, parameters, { sequences }));
    const values = (await readTensor(out)).slice();
    out.dispose();
    return values;
  };
  const [one, other] = [await logits([1, 2, 3, 4, 0, 1]), await logits([1, 2, 3, 0, 2, 2])];
  assertEquals(one.subarray(0, 3 * 5), other.subarray(0, 3 * 5));
  assert(String(one.subarray(3 * 5)) !== String(other.subarray(3 * 5)));
  disposeParameters(parameters);
});

Deno.test("runs share the start of what they have in common", () => {
  const starts = RUNS.map((intensity) =>
    new Map(
      gptSpecs({ ...tiny, intensity }).map((spec) => [spec.name, initialValue(spec, { seed: 3 })]),
    )
  );
  for (const [name, values] of starts[0]!) {
    for (const start of starts) assertEquals(start.get(name), values, name);
  }
  assertEquals(starts.map((start) => start.size - starts[0]!.size), [0, 4, 4, 10, 10]);
});

Deno.test("draws follow the distribution, and stay within the likeliest", () => {
  const logits = [1, 3, 2, -1], counts = [0, 0, 0, 0];
  for (const draw of words(streamKey(0, "draws"), 20_000)) {
    counts[sample(logits, { temperature: 2, topK: 3, draw })]!++;
  }
  const weights = [0.5, 1.5, 1].map(Math.exp);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  assertEquals(counts[3], 0);
  weights.forEach((weight, i) => {
    const share = counts[i]! / 20_000;
    assert(Math.abs(share - weight / total) < 0.012, `token ${i}: ${share}`);
  });
  assertEquals(sample(logits, { temperature: 1, topK: 1, draw: 123456 }), 1);
});

Deno.test("a text shorter than an excerpt is refused", () => {
  const options = { count: 1, length: 5, seed: 0, name: "batch/0" };
  assertThrows(() => excerpts([1, 2, 3, 4, 5], options), RangeError, "more than 5 tokens");
  assertEquals([...excerpts([1, 2, 3, 4, 5, 6], options).next], [2, 3, 4, 5, 6]);
});

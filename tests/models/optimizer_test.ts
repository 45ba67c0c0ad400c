import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { Adam } from "../../doctor/formulas.ts";
import type { BackendName } from "../../models/backend.ts";
import {
  clipByNorm,
  type OptimizerOptions,
  optimizerStep,
  zeroMoments,
} from "../../models/optimizer.ts";
import { integers, normal, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn, worstRelative } from "./rig.ts";

const BACKENDS: readonly BackendName[] = ["cpu", "wasm", "wasm+fma", "webgpu"];

const drawn = (name: string, size: number, deviation = 1) =>
  normal(streamKey(1, `optimizer/${name}`), size, { deviation });

/** Random sizes, odd ones too; one of more elements than a workgroup adds the squares of. */
const SHAPES: readonly number[][] = [
  [1],
  [1, 1],
  [3, 1367],
  ...[...integers(streamKey(1, "optimizer/sizes"), 24, 40)].map((n, i) =>
    i % 2 === 0 ? [2 * n + 1] : [n + 1, n % 7 + 1]
  ),
];

const sizeOf = (shape: readonly number[]) => shape.reduce((product, n) => product * n, 1);

const SETTINGS: readonly Required<OptimizerOptions>[] = ([
  // Without decay: where it all but cancels a gradient, Adam divides what rounding left by itself.
  { kind: "adam", weightDecay: 0, decayRank: 0, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
  { kind: "adamw", weightDecay: 0.1, decayRank: 0, beta1: 0.9, beta2: 0.999, epsilon: 1e-8 },
  // An ε that counts beside the smaller gradients.
  { kind: "adam", weightDecay: 0.3, decayRank: 2, beta1: 0.8, beta2: 0.95, epsilon: 1e-2 },
  { kind: "adamw", weightDecay: 0.3, decayRank: 2, beta1: 0.8, beta2: 0.95, epsilon: 1e-2 },
] as const).map((o) => ({ ...o, learningRate: 0.05 }));

for (const settings of SETTINGS) {
  const { kind, weightDecay } = settings;
  testOn(BACKENDS, `${kind} with decay ${weightDecay} is its algorithm in doubles`, async () => {
    const starts = SHAPES.map((shape, i) => drawn(`p.${i}`, sizeOf(shape)));
    const references = starts.map((start, i) =>
      new Adam(start, { ...settings, rank: SHAPES[i]!.length })
    );
    const parameters = new Map(
      starts.map((start, i) => [`${i}`, tf.tidy(() => tf.variable(tf.tensor(start, SHAPES[i]!)))]),
    );
    const moments = zeroMoments(parameters);
    for (let step = 1; step <= 6; step++) {
      const gradients = new Map<string, tf.Tensor>();
      SHAPES.forEach((shape, i) => {
        // Each parameter has its own size of gradients; the last but one has none in some steps.
        if (i === SHAPES.length - 2 && step % 2 === 0) return;
        const gradient = drawn(`g.${step}.${i}`, sizeOf(shape), 10 ** (-i % 4));
        gradients.set(`${i}`, tf.tensor(gradient, shape));
        references[i]!.step(gradient, step);
      });
      optimizerStep(parameters, gradients, { ...settings, moments, step });
      tf.dispose([...gradients.values()]);
    }
    for (const [i, reference] of references.entries()) {
      const { first, second } = moments.get(`${i}`)!, p = parameters.get(`${i}`)!;
      for (const [name, tensor] of Object.entries({ p, m: first, v: second })) {
        const expected = reference[name as "p" | "m" | "v"];
        const worst = worstRelative(await readTensor(tensor), expected, 1e-12);
        assert(worst < 1e-6, `${name} of [${SHAPES[i]}] differs by ${worst}`);
        tensor.dispose();
      }
    }
  });
}

testOn(BACKENDS, "clipping scales by the limit over the norm of all gradients", async () => {
  // Where gradients are tiny, the 1e-6 that PyTorch adds to the norm counts.
  for (const deviation of [1, 1e-8]) {
    const arrays = SHAPES.map((shape, i) => drawn(`clip.${i}`, sizeOf(shape), deviation));
    const norm = Math.sqrt(arrays.reduce((sum, g) => g.reduce((sum, x) => sum + x * x, sum), 0));
    for (const limit of [0.01 * norm, 0.9 * norm, 1.1 * norm + 1e-6]) {
      const gradients = new Map(
        arrays.map((g, i) => [`${i}`, tf.tensor(g.slice(), SHAPES[i]!)] as const),
      );
      clipByNorm(gradients, limit);
      for (const [i, g] of arrays.entries()) {
        const tensor = gradients.get(`${i}`)!, found = await readTensor(tensor);
        tensor.dispose();
        if (limit > norm) {
          assertEquals(found, g);
          continue;
        }
        const expected = Float64Array.from(g, (x) => x * limit / (norm + 1e-6));
        const worst = worstRelative(found, expected, 1e-30);
        assert(worst < 1e-6, `[${SHAPES[i]}] to ${limit}: differs by ${worst}`);
      }
    }
  }
});

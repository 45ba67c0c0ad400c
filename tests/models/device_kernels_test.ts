import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { startBackend } from "../../models/backend.ts";
import type { CheckedBackend } from "../../models/kernels/checked_backend.ts";
import { normalised } from "../../doctor/formulas.ts";
import { keepFactors } from "../../models/kernels/scalar.ts";
import { drop } from "../../models/operations/dropout.ts";
import { layerNorm } from "../../models/operations/layer_norm.ts";
import { linear, unembed } from "../../models/operations/linear.ts";
import { clipByNorm, optimizerStep, zeroMoments } from "../../models/optimizer.ts";
import { integers, normal, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn, worstRelative } from "./rig.ts";

const drawn = (name: string, n: number) => normal(streamKey(1, name), n);

testOn(["webgpu"], "linear layers and their gradients are those of plain loops", async () => {
  // Rows of whole vec4s are read as such; tiles have from 8 rows of 256 columns to 256 of 8; weight
  // gradients are summed in parts of 256 rows.
  const shapes = [[1, 4, 4], [7, 8, 132], [9, 268, 8], [66, 12, 20], [5, 3, 9], [6, 4, 65]]
    .concat([[300, 7, 1], [1, 1, 1], [33, 65, 2], [10, 66, 259], [70, 30, 11]])
    .concat([[256, 9, 4], [257, 12, 260], [777, 5, 6]]);
  for (const [n, i, o] of shapes as [number, number, number][]) {
    for (const biased of [false, true]) {
      const x = drawn("x", n * i),
        w = drawn("w", i * o),
        b = drawn("b", o),
        dy = drawn("dy", n * o);
      const { value, grads } = tf.tidy(() => {
        const inputs = [tf.tensor2d(x, [n, i]), tf.tensor2d(w, [i, o]), tf.tensor1d(b)];
        return tf.valueAndGrads((x: tf.Tensor, w: tf.Tensor, b: tf.Tensor) =>
          biased ? linear(x, w, b) : tf.add(linear(x, w), tf.mul(0, tf.sum(b)))
        )(inputs, tf.tensor2d(dy, [n, o]));
      });
      const y = new Float64Array(n * o), dx = new Float64Array(n * i);
      const dw = new Float64Array(i * o), db = new Float64Array(o);
      for (let row = 0; row < n; row++) {
        for (let k = 0; k < o; k++) {
          const slope = dy[row * o + k]!;
          y[row * o + k]! += biased ? b[k]! : 0;
          db[k]! += biased ? slope : 0;
          for (let j = 0; j < i; j++) {
            y[row * o + k]! += x[row * i + j]! * w[j * o + k]!;
            dx[row * i + j]! += slope * w[j * o + k]!;
            dw[j * o + k]! += slope * x[row * i + j]!;
          }
        }
      }
      for (const [t, expected] of [[value, y], [grads[0], dx], [grads[1], dw], [grads[2], db]]) {
        const worst = worstRelative(await readTensor(t as tf.Tensor), expected as Float64Array);
        assert(worst < 2e-6, `[${n}, ${i}] × [${i}, ${o}]: ${worst}`);
      }
      tf.dispose([value, grads]);
    }
  }
});

testOn(["webgpu"], "a weight that was read before a step has its new value after it", async () => {
  const p = tf.variable(tf.tensor1d([1, -2, 3]));
  const parameters = new Map([["p", p]]), moments = zeroMoments(parameters);
  assertEquals([...await readTensor(p)], [1, -2, 3]);
  const g = tf.tensor1d([5, -1, 2]);
  // Adam's first step moves each weight by its rate, against the gradient's sign.
  const options = { kind: "adam", learningRate: 0.5, moments, step: 1 } as const;
  optimizerStep(parameters, new Map([["p", g]]), options);
  assert(worstRelative(await readTensor(p), [0.5, -1.5, 2.5]) < 1e-6);
  const { first, second } = moments.get("p")!;
  assert(worstRelative(await readTensor(first), [0.5, -0.1, 0.2]) < 1e-6);
  assert(worstRelative(await readTensor(second), [0.025, 0.001, 0.004]) < 1e-6);
  tf.dispose([p, g, first, second]);
});

testOn(
  ["webgpu"],
  "an output layer that shares the embeddings is that of plain loops",
  async () => {
    for (const [n, c, v] of [[9, 8, 65], [70, 33, 12], [5, 16, 3], [1, 1, 1]] as const) {
      const x = drawn("x", n * c), table = drawn("table", v * c), dy = drawn("dy", n * v);
      const { value, grads } = tf.valueAndGrads((x: tf.Tensor, table: tf.Tensor) =>
        unembed(x, table)
      )([tf.tensor2d(x, [n, c]), tf.tensor2d(table, [v, c])], tf.tensor2d(dy, [n, v]));
      const y = new Float64Array(n * v), dx = new Float64Array(n * c), dt = new Float64Array(v * c);
      for (let row = 0; row < n; row++) {
        for (let k = 0; k < v; k++) {
          for (let j = 0; j < c; j++) {
            y[row * v + k]! += x[row * c + j]! * table[k * c + j]!;
            dx[row * c + j]! += dy[row * v + k]! * table[k * c + j]!;
            dt[k * c + j]! += dy[row * v + k]! * x[row * c + j]!;
          }
        }
      }
      for (const [t, expected] of [[value, y], [grads[0]!, dx], [grads[1]!, dt]] as const) {
        assert(worstRelative(await readTensor(t), expected) < 2e-6, `[${n}, ${c}, ${v}]`);
      }
      tf.dispose([value, grads]);
    }
  },
);

testOn(["webgpu"], "layer normalisation is that of doubles, its gradient their slope", async () => {
  const shapes = [[1, 1], [5, 3], [7, 33], [130, 64], [3, 130], [32800, 8]];
  for (const [n, c] of shapes as [number, number][]) {
    for (const biased of [false, true]) {
      const arrays: Record<"x" | "gain" | "bias", ArrayLike<number>> = {
        x: drawn("x", n * c).map((x) => 3 * x + 2),
        gain: drawn("gain", c),
        bias: biased ? drawn("bias", c) : new Float32Array(c),
      };
      const dy = drawn("dy", n * c);
      const { value, grads } = tf.tidy(() =>
        tf.valueAndGrads((x: tf.Tensor, gain: tf.Tensor, bias?: tf.Tensor) =>
          layerNorm(x, gain, bias)
        )([
          tf.tensor2d(arrays.x as Float32Array, [n, c]),
          tf.tensor1d(arrays.gain as Float32Array),
          ...biased ? [tf.tensor1d(arrays.bias as Float32Array)] : [],
        ], tf.tensor2d(dy, [n, c]))
      );
      const expected = normalised(arrays.x, { n, c, ...arrays });
      assert(worstRelative(await readTensor(value), expected) < 1e-5, `[${n}, ${c}]`);
      for (const [i, name] of (["x", "gain", "bias"] as const).entries()) {
        if (grads[i] === undefined) continue;
        const slope = await readTensor(grads[i]), direction = drawn("direction", slope.length);
        const along = (step: number) => {
          const moved = Float64Array.from(arrays[name], (x, k) => x + step * direction[k]!);
          const { x, gain, bias }: typeof arrays = { ...arrays, [name]: moved };
          return normalised(x, { n, c, gain, bias }).reduce((sum, y, k) => sum + y * dy[k]!, 0);
        };
        const rise = (along(1e-6) - along(-1e-6)) / 2e-6;
        const found = slope.reduce((sum, s, k) => sum + s * direction[k]!, 0);
        // A row of one element has no slope in x but for rounding.
        const size = Math.max(1, Math.hypot(...slope.slice(0, 9999)) * Math.sqrt(slope.length));
        assert(Math.abs(found - rise) < 2e-5 * size, `${name} of [${n}, ${c}]: ${found}, ${rise}`);
      }
      tf.dispose([value, grads]);
    }
  }
});

testOn(["webgpu"], "dropout and its gradient take the factors of the stream", async () => {
  const key = streamKey(5, "dropout/use");
  for (const n of [1, 31, 33, 64, 4099]) {
    const x = drawn("x", n), dy = drawn("dy", n), factors = new Float32Array(n);
    keepFactors(key, 0.3, factors);
    const { value, grad } = tf.valueAndGrad((x: tf.Tensor) =>
      drop(x, { rate: 0.3, key: () => key }, { use: "use" })
    )(tf.tensor1d(x), tf.tensor1d(dy));
    const product = (a: Float32Array) => a.map((x, i) => x * Math.fround(factors[i]!) + 0);
    assertEquals(await readTensor(value), product(x));
    assertEquals(await readTensor(grad), product(dy));
    tf.dispose([value, grad]);
  }
});

/** Sizes of more parameters than any one dispatch changes. */
const SIZES = integers(streamKey(1, "sizes"), 70, 300).map((n) => n + 1);
SIZES[3] = 9000;

/** Parameters, gradients and moments after clipping and some steps, in the order of the names. */
async function stepped(clip: number): Promise<Float32Array[]> {
  const named = (name: string) =>
    [...SIZES].map((n, i) => [`${i}`, tf.variable(tf.tensor1d(drawn(`${name}.${i}`, n)))] as const);
  const parameters = new Map(named("p")), moments = zeroMoments(parameters);
  for (let step = 1; step <= 3; step++) {
    const gradients = new Map<string, tf.Tensor>(named(`g.${step}`));
    clipByNorm(gradients, clip);
    optimizerStep(parameters, gradients, {
      kind: step === 2 ? "adam" : "adamw",
      learningRate: 0.1,
      weightDecay: 0.2,
      moments,
      step,
    });
    tf.dispose([...gradients.values()]);
  }
  const tensors = [...parameters].flatMap(([name, p]) => {
    const { first, second } = moments.get(name)!;
    return [p, first, second];
  });
  const values = await Promise.all(tensors.map(readTensor));
  tf.dispose(tensors);
  return values;
}

testOn(
  ["webgpu"],
  "many parameters step as the host's do, whatever a shader may bind",
  async () => {
    const { device } = tf.backend() as CheckedBackend;
    for (const clip of [1, 1e6]) {
      const found = await stepped(clip);
      const { limits } = device;
      Object.defineProperty(device, "limits", {
        value: new Proxy(limits, {
          get: (target, name) =>
            name === "maxStorageBuffersPerShaderStage"
              ? 8
              : target[name as keyof GPUSupportedLimits],
        }),
        configurable: true,
      });
      assertEquals(await stepped(clip), found);
      Object.defineProperty(device, "limits", { value: limits, configurable: true });
      await startBackend("cpu");
      const expected = await stepped(clip);
      await startBackend("webgpu");
      found.forEach((values, i) =>
        assert(worstRelative(values, expected[i]!) < 2e-5, `tensor ${i}`)
      );
    }
  },
);

import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { linear } from "../../models/operations/linear.ts";
import { optimizerStep, zeroMoments } from "../../models/optimizer.ts";
import { normal, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn, worstRelative } from "./rig.ts";

const drawn = (name: string, n: number) => normal(streamKey(1, name), n);

testOn(["webgpu"], "linear layers and their gradients are those of plain loops", async () => {
  // Widths that are multiples of 4 have a kernel of their own; tiles have 8 rows, 128 columns.
  const shapes = [[1, 4, 4], [7, 8, 132], [9, 132, 8], [66, 12, 20], [5, 3, 9], [6, 4, 65]];
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

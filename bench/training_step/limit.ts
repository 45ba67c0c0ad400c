/**
 * What a training step can reach at most on the processor: its products at the speed of the best one.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { runHost } from "../../models/kernels/host.ts";
import { isGpt, type Model, SIZES } from "./sizes.ts";

/** Multiplications and additions in the products of a step, forward and backward. */
export function stepFlops(model: Model): number {
  const { batch, length, d, dFf, layers, classes } = SIZES[model];
  const tokens = batch * length;
  const weights = layers * (4 * d * d + 2 * d * dFf);
  const output = (isGpt(model) ? tokens : batch) * d * classes;
  // Two products of a weight's size in the gradient for one forward; in attention four for two.
  return 6 * (tokens * weights + output) + 12 * layers * tokens * length * d;
}

/** Operations per second of products whose operands stay in the caches: the best of many. */
export function productSpeed(now: () => number): number {
  const [m, k, n] = [120, 256, 128], times = 20;
  const a = tf.randomNormal([m, k]), b = tf.randomNormal([k, n]);
  let best = 0;
  for (let round = 0; round < 40; round++) {
    const results = runHost(
      "limit",
      { inputs: [a, b], outputs: [[m, n]] },
      (inputs, outputs, _, loops) => {
        const [a, b] = inputs as [Float32Array, Float32Array];
        const start = now();
        for (let i = 0; i < times; i++) loops.product({ m, n, k, a, b, c: outputs[0]! });
        best = Math.max(best, 2 * m * n * k * times / (now() - start) * 1000);
      },
    );
    tf.dispose(results);
  }
  tf.dispose([a, b]);
  return best;
}

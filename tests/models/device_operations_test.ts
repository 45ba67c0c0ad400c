/**
 * Each operation on each backend against its formula in doubles: values, and gradients against the
 * formula's differences.
 *
 * @module
 */
import { assert } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { OPERATIONS } from "../../doctor/cases.ts";
import { checkCase } from "../../doctor/check.ts";
import { density, distribution } from "../../doctor/formulas.ts";
import type { BackendName } from "../../models/backend.ts";
import { gelu } from "../../models/operations/activation.ts";
import { readTensor } from "../../models/webgpu.ts";
import fixtures from "../reference/pytorch/portable_math.json" with { type: "json" };
import { testOn } from "./rig.ts";

const BACKENDS: readonly BackendName[] = ["cpu", "wasm", "wasm+fma", "webgpu"];

/** Cases of each operation: the first has sizes of 1, the next two odd ones. */
const CASES = 6;

/** Most pairs of an input's and an output's element for differences along each element alone. */
const MAX_PAIRS = 200_000;

for (const [name, operation] of Object.entries(OPERATIONS)) {
  testOn(BACKENDS, `${name}: values and slopes are the formula's in doubles`, async () => {
    for (let number = 0; number < CASES; number++) {
      const findings = await checkCase(operation, { name, number, maxPairs: MAX_PAIRS });
      for (const { what, inputs, error, tolerance } of findings) {
        assert(error < tolerance, `${inputs}: ${what} differ by ${error}`);
      }
    }
  });
}

Deno.test("the series of the distribution function agrees with 60-digit arithmetic", () => {
  const worst = Math.max(...fixtures.normalCdf.map(([x, y]) => Math.abs(distribution(x!) - y!)));
  assert(worst < 1e-15, `worst error ${worst}`);
});

testOn(BACKENDS, "gelu and its slope are right in the tails and at the ends", async () => {
  // No farther: the least exponential on wasm is not 0 but 1e-38, which |x| multiplies.
  const far = [0, 1e-30, 5.9, 6, 6.1, 12, 14, 100, 1e4, 1e20].flatMap((x) => [x, -x]);
  const points = Float32Array.from([...fixtures.normalCdf.map(([x]) => x!), ...far]);
  const { value, grad } = tf.tidy(() => {
    const x = tf.tensor1d(points);
    return tf.valueAndGrad(gelu)(x, tf.onesLike(x));
  });
  const values = await readTensor(value), slopes = await readTensor(grad);
  points.forEach((x, i) => {
    const most = x < -3 ? 3e-8 : 1e-6;
    const error = Math.abs(values[i]! - x * distribution(x)) / Math.max(1, x);
    assert(error < most, `gelu(${x}) = ${values[i]}`);
    const slope = distribution(x) + x * density(x);
    assert(Math.abs(slopes[i]! - slope) < most, `gelu'(${x}) = ${slopes[i]}, not ${slope}`);
  });
  tf.dispose([value, grad]);
});

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { crossEntropyFormula, type Labelled } from "../../doctor/formulas.ts";
import { crossEntropy } from "../../models/operations/cross_entropy.ts";
import { integers, normal, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn, worstRelative } from "./rig.ts";

interface Work extends Labelled {
  readonly logits: Float32Array;
}

function work(n: number, k: number): Work {
  return {
    logits: normal(streamKey(1, `logits.${n}.${k}`), n * k).map((x) => 4 * x),
    labels: Int32Array.from(integers(streamKey(1, `labels.${n}.${k}`), n, k)),
    k,
    divisor: n + 2,
  };
}

async function computed({ logits, labels, k, divisor }: Work, slope = 1) {
  const { value, grad } = tf.valueAndGrad((x: tf.Tensor) => crossEntropy(x, labels, { divisor }))(
    tf.tensor2d(logits, [labels.length, k]),
    tf.scalar(slope),
  );
  const found = { loss: (await readTensor(value))[0]!, gradient: await readTensor(grad) };
  tf.dispose([value, grad]);
  return found;
}

const shapes = [
  [1, 1],
  [3, 2],
  [33, 4],
  [7, 11],
  [2, 64],
  [130, 65],
  [9, 256],
  [5, 1003],
  // More rows than a dimension of workgroups takes.
  [33000, 3],
];
for (const [n, k] of shapes as [number, number][]) {
  testOn(["webgpu"], `cross-entropy of [${n}, ${k}] agrees with doubles`, async () => {
    const o = work(n, k);
    const expected = crossEntropyFormula(o, o.logits), found = await computed(o, 0.5);
    assert(worstRelative([found.loss], [expected.loss]) < 1e-5, `${found.loss}`);
    const halved = expected.gradient.map((slope) => slope / 2);
    assert(worstRelative(found.gradient, halved, 1e-30) < 1e-5);
    assertEquals(await computed(o), await computed(o));
  });
}

testOn(["webgpu"], "cross-entropy's gradient is the slope of differences", async () => {
  const o = work(13, 7), step = 1e-5;
  const { gradient } = await computed(o);
  for (let i = 0; i < o.logits.length; i++) {
    const moved = (by: number) => Float64Array.from(o.logits, (z, at) => at === i ? z + by : z);
    const rise = crossEntropyFormula(o, moved(step)).loss -
      crossEntropyFormula(o, moved(-step)).loss;
    assert(Math.abs(gradient[i]! - rise / (2 * step)) < 1e-7);
  }
});

testOn(["webgpu"], "a sure prediction's loss and gradient keep their digits", async () => {
  // Losses from 0.3 down to e⁻⁶⁰, each with a batch of its own.
  for (const margin of [1, 3, 10, 17, 30, 60]) {
    // WGSL lets e⁻ˣ be 3 + 2x units of the last digit off.
    const tolerance = (6 + 2 * margin) * 2 ** -23;
    const k = 5, logits = new Float32Array(k).fill(100 - margin);
    logits[3] = 100;
    for (const label of [3, 1]) {
      const o = { logits, labels: Int32Array.of(label), k, divisor: 1 };
      const expected = crossEntropyFormula(o, logits), found = await computed(o);
      assert(Math.abs(found.loss / expected.loss - 1) < tolerance, `${found.loss} at ${margin}`);
      found.gradient.forEach((slope, i) => {
        assert(Math.abs(slope / expected.gradient[i]! - 1) < tolerance, `${slope} at ${margin}`);
      });
    }
  }
});

testOn(["webgpu"], "cross-entropy survives logits that overflow an exponential", async () => {
  const o = { ...work(40, 9), logits: work(40, 9).logits.map((z) => 1000 * z) };
  const expected = crossEntropyFormula(o, o.logits), found = await computed(o);
  assert(worstRelative([found.loss], [expected.loss]) < 1e-5);
  assert(worstRelative(found.gradient, expected.gradient) < 1e-5);
});

testOn(["cpu", "wasm", "webgpu"], "labels that are no class, or too few, are refused", () => {
  const loss = (...labels: number[]) =>
    tf.tidy(() => crossEntropy(tf.zeros([2, 3]), Int32Array.from(labels)));
  assertThrows(() => loss(0, 3), RangeError, "class 3: the logits are of classes 0 to 2");
  assertThrows(() => loss(-1, 0), RangeError, "class -1");
  assertThrows(() => loss(1), RangeError, "labels must be [2], got [1]");
});

import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { attention } from "../../models/operations/attention.ts";
import { normal, streamKey } from "../../models/random.ts";
import { testOn, worstRelative } from "./rig.ts";

const drawn = (name: string, n: number) => normal(streamKey(1, name), n);

function gradientOf(qkv: Float32Array, dy: Float32Array, offsets: number[]): Float32Array {
  const rows = offsets.at(-1)!;
  return tf.tidy(() => {
    const x = tf.tensor2d(qkv, [rows, qkv.length / rows]);
    const weight = tf.tensor2d(dy, [rows, dy.length / rows]);
    const gradient = tf.grad((x: tf.Tensor) =>
      tf.sum(tf.mul(attention(x, { offsets: Int32Array.from(offsets), heads: 2 }), weight))
    );
    return gradient(x).dataSync().slice() as Float32Array;
  });
}

testOn(["wasm"], "weights computed again for the gradient are those that were kept", () => {
  // One document's weights are few enough to keep, two documents' are not.
  const t = 1500, c = 4;
  const qkv = drawn("qkv", 2 * t * 3 * c), dy = drawn("dy", 2 * t * c);
  const together = gradientOf(qkv, dy, [0, t, 2 * t]);
  const first = gradientOf(qkv.slice(0, t * 3 * c), dy.slice(0, t * c), [0, t]);
  const second = gradientOf(qkv.slice(t * 3 * c), dy.slice(t * c), [0, t]);
  assertEquals(together, Float32Array.from([...first, ...second]));
});

testOn(["cpu", "wasm", "webgpu"], "equal keys mix the values evenly", async () => {
  const offsets = Int32Array.of(0, 3, 4), c = 4;
  const qkv = drawn("qkv", 4 * 3 * c);
  for (let row = 0; row < 4; row++) qkv.fill(1, row * 3 * c + c, row * 3 * c + 2 * c);
  const y = tf.tidy(() => attention(tf.tensor2d(qkv, [4, 3 * c]), { offsets, heads: 2 }));
  const found = await y.data();
  y.dispose();
  const value = (row: number, j: number) => qkv[row * 3 * c + 2 * c + j]!;
  for (let j = 0; j < c; j++) {
    const mean = (value(0, j) + value(1, j) + value(2, j)) / 3;
    for (let row = 0; row < 3; row++) {
      assert(worstRelative([found[row * c + j]!], [mean]) < 1e-6);
    }
    assert(worstRelative([found[3 * c + j]!], [value(3, j)]) < 1e-6);
  }
});

testOn(["wasm"], "a width that the heads do not divide is refused", () => {
  const qkv = tf.zeros([2, 12]);
  assertThrows(
    () => attention(qkv, { offsets: Int32Array.of(0, 2), heads: 3 }),
    RangeError,
    "3 × heads must divide the width",
  );
  qkv.dispose();
});

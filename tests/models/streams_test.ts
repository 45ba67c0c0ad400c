import { assertEquals } from "@std/assert";
import { createHash } from "node:crypto";
import * as tf from "@tensorflow/tfjs";
import { stratifiedSubset } from "../../data/select.ts";
import { classifierSpecs } from "../../models/classifier.ts";
import { excerpts } from "../../models/gpt_training.ts";
import { drop, dropoutAt } from "../../models/operations/dropout.ts";
import { disposeParameters, initialParameters } from "../../models/parameters.ts";
import { Counter, permutation, streamKey } from "../../models/random.ts";
import { readTensor } from "../../models/webgpu.ts";
import golden from "../reference/random/streams.json" with { type: "json" };
import { testOn } from "./rig.ts";

function digest(values: Uint32Array | Int32Array | Float32Array): string {
  const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
  return createHash("sha256").update(bytes).digest("hex");
}

Deno.test("shuffles, splits and batches are those of another implementation", () => {
  assertEquals(digest(permutation(streamKey(3, "shuffle/epoch.2"), 1000)), golden.shuffle);
  assertEquals(digest(permutation(streamKey(2 ** 40 + 1, "split/validation"), 501)), golden.split);
  const text = Int32Array.from({ length: 5000 }, (_, i) => i);
  const batch = excerpts(text, { count: 64, length: 256, seed: 1337, name: "batch/step.7" });
  assertEquals(digest(batch.sequences.ids), golden.batch);
});

Deno.test("what corpora and splits are drawn by is as another implementation has it", () => {
  const draw = new Counter(2 ** 40 + 7, "document", "train", 5);
  assertEquals(
    digest(Uint32Array.from({ length: 1000 }, (_, n) => draw.below(n % 1000 + 1))),
    golden.counter,
  );
  const labels = Array.from({ length: 1000 }, (_, i) => i % 4);
  const chosen = stratifiedSubset(labels, 100, { seed: 3, stream: "train" });
  const documents = labels.flatMap((_, i) => chosen[i] ? [i] : []);
  assertEquals(digest(Uint32Array.from(documents)), golden.subset);
});

testOn(["cpu", "wasm", "webgpu"], "dropout masks are those of another implementation", async () => {
  const mask = async (
    options: Parameters<typeof dropoutAt>[1] & { use: string },
    rate: number,
    shape: number[],
  ) => {
    const kept = tf.tidy(() => drop(tf.ones(shape), dropoutAt(rate, options), options));
    const values = Uint32Array.from(await readTensor(kept), (x) => x === 0 ? 0 : 1);
    kept.dispose();
    return digest(values);
  };
  const hidden = { seed: 5, step: 12, use: "encoder.0.hidden" };
  assertEquals(await mask(hidden, 0.1, [37, 29]), golden.mask);
  const piece = { seed: 5, step: 12, use: "embedding", before: { tokens: 7, documents: 1 } };
  assertEquals(await mask(piece, 0.2, [16, 33]), golden.maskOfPiece);
});

testOn(
  ["cpu", "wasm", "webgpu"],
  "initial weights are those of another implementation",
  async () => {
    const specs = classifierSpecs({
      fusion: "add",
      gateTaps: 3,
      gateReduce: "none",
      maxDistance: 3,
      encoding: "learned",
      vocabulary: 30,
      maxLength: 9,
      classes: 4,
      d: 16,
      heads: 4,
      layers: 1,
      dFf: 32,
      activation: "gelu",
    });
    const parameters = initialParameters(specs, { seed: 4 });
    const read = async (name: string) => digest(await readTensor(parameters.get(name)!));
    assertEquals(await read("encoder.0.ff1.weight"), golden.uniformWeights);
    assertEquals(await read("position.learned"), golden.normalWeights);
    disposeParameters(parameters);
  },
);

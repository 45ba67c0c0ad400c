import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { type ClassifierShape, classifierSpecs } from "../../models/classifier.ts";
import { CheckedBackend } from "../../models/kernels/checked_backend.ts";
import { zeroMoments } from "../../models/optimizer.ts";
import { disposeParameters, initialParameters } from "../../models/parameters.ts";
import { integers, streamKey } from "../../models/random.ts";
import { trainStep } from "../../models/training.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn } from "./rig.ts";

const small: ClassifierShape = {
  fusion: "gate_scalar",
  gateTaps: 3,
  gateReduce: "none",
  maxDistance: 3,
  encoding: "sinusoidal",
  vocabulary: 50,
  maxLength: 60,
  classes: 4,
  d: 16,
  heads: 2,
  layers: 1,
  dFf: 32,
  activation: "gelu",
};
const LONGEST = 60, COUNT = 4;

function batch(lengths: ArrayLike<number>, step: number, vocabulary: number) {
  const offsets = [0];
  for (const n of Array.from(lengths)) offsets.push(offsets.at(-1)! + n);
  const ids = integers(streamKey(0, `ids/${step}`), offsets.at(-1)!, vocabulary);
  return { documents: { labels: [0, 1, 2, 3], offsets, ids }, chosen: [0, 1, 2, 3] };
}

/** Bytes the backend holds for tensors, those kept for reuse included. */
function bytesHeld(): number {
  const backend = tf.backend();
  return backend instanceof CheckedBackend
    ? backend.memory().numBytesAllocatedInGPU
    : (backend as unknown as { wasm: { HEAPU8: Uint8Array } }).wasm.HEAPU8.byteLength;
}

testOn(
  ["wasm", "webgpu"],
  "200 steps of documents of all lengths take no more memory than the first",
  async (on) => {
    // On wasm weights and moments fill the memory it starts with: what comes on top shows.
    const shape = { ...small, vocabulary: on === "wasm" ? 60_000 : small.vocabulary };
    const before = tf.memory().numTensors;
    const parameters = initialParameters(classifierSpecs(shape), { seed: 0 });
    const moments = zeroMoments(parameters);
    const step = async (number: number, lengths: ArrayLike<number>) => {
      const loss = trainStep(parameters, {
        shape,
        ...batch(lengths, number, shape.vocabulary),
        seed: 0,
        step: number,
        dropoutRate: 0.1,
        optimizer: { kind: "adamw", learningRate: 1e-3 },
        moments,
        chunkTokens: 3 * LONGEST,
      });
      if (number % 10 === 1) assert(Number.isFinite((await readTensor(loss))[0]!));
      loss.dispose();
      const { numTensors, numDataBuffers, numBytes } = tf.memory();
      return { numTensors, numDataBuffers, numBytes };
    };
    const held = await step(1, new Array(COUNT).fill(LONGEST));
    const bytes = bytesHeld();
    const seen = new Set<string>();
    for (let number = 2; number <= 200; number++) {
      const lengths = integers(streamKey(0, `length/${number}`), COUNT, LONGEST).map((n) => n + 1);
      seen.add(String(lengths));
      assertEquals(await step(number, lengths), held, `after step ${number}`);
    }
    assert(seen.size > 190, "the lengths hardly varied");
    assert(bytesHeld() <= 2 * bytes, `${bytes} bytes after one step, then ${bytesHeld()}`);
    disposeParameters(parameters);
    for (const { first, second } of moments.values()) first.dispose(), second.dispose();
    assertEquals(tf.memory().numTensors, before);
  },
);

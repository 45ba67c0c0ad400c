import { assert, assertEquals } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { type ClassifierConfig, classifierSpecs } from "../../models/classifier.ts";
import { CheckedBackend } from "../../models/kernels/checked_backend.ts";
import { zeroMoments } from "../../models/optimizer.ts";
import { disposeParameters, initialParameters } from "../../models/parameters.ts";
import { integers, streamKey } from "../../models/random.ts";
import { trainStep } from "../../models/training.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn } from "./rig.ts";

const small: ClassifierConfig = {
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

/** What is in use, the most that was at once, and what is held for it, reserves included. */
interface Bytes {
  readonly used: number;
  readonly peak: number;
  readonly held: number;
}

interface Allocating {
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _free(address: number): void;
}

/** Counts a backend's bytes from here on; on wasm those that tfjs and the loops ask its memory for. */
function countBytes(backend: unknown): () => Bytes {
  if (backend instanceof CheckedBackend) {
    const { buffers } = backend;
    return () => ({
      used: buffers.numBytesUsed,
      peak: buffers.numBytesPeak,
      held: buffers.numBytesAllocated,
    });
  }
  const { wasm } = backend as { wasm: Allocating };
  const { _malloc, _free } = wasm;
  const sizes = new Map<number, number>();
  let used = 0, peak = 0;
  wasm._malloc = (bytes) => {
    const address = _malloc(bytes);
    sizes.set(address >>> 0, bytes);
    used += bytes;
    peak = Math.max(peak, used);
    return address;
  };
  wasm._free = (address) => {
    used -= sizes.get(address >>> 0) ?? 0;
    sizes.delete(address >>> 0);
    _free(address);
  };
  return () => ({ used, peak, held: wasm.HEAPU8.byteLength });
}

testOn(
  ["wasm", "webgpu"],
  "200 steps of documents of all lengths take no more memory than the first 20",
  async (on) => {
    // On wasm weights and moments fill the memory it starts with: what comes on top makes it grow.
    const config = { ...small, vocabulary: on === "wasm" ? 60_000 : small.vocabulary };
    const before = tf.memory().numTensors;
    const bytes = countBytes(tf.backend());
    const parameters = initialParameters(classifierSpecs(config), { seed: 0 });
    const moments = zeroMoments(parameters);
    const step = async (number: number, lengths: ArrayLike<number>) => {
      const loss = trainStep(parameters, {
        config,
        ...batch(lengths, number, config.vocabulary),
        seed: 0,
        step: number,
        dropoutRate: 0.1,
        optimizer: { kind: "adamw", learningRate: 1e-3 },
        moments,
        chunkTokens: 3 * LONGEST,
      });
      // What was freed while the device is at work is in use until it is waited for.
      if (number % 20 === 0) assert(Number.isFinite((await readTensor(loss))[0]!));
      loss.dispose();
      const { numTensors, numDataBuffers, numBytes } = tf.memory();
      return { numTensors, numDataBuffers, numBytes };
    };
    const held = await step(1, new Array(COUNT).fill(LONGEST));
    const { peak } = bytes();
    const seen = new Set<string>();
    const history: Bytes[] = [];
    for (let number = 2; number <= 200; number++) {
      const lengths = integers(streamKey(0, `length/${number}`), COUNT, LONGEST).map((n) => n + 1);
      seen.add(String(lengths));
      assertEquals(await step(number, lengths), held, `after step ${number}`);
      if (number % 20 === 0) history.push(bytes());
    }
    assert(seen.size > 190, "the lengths hardly varied");
    // No batch is larger than the first; what is held for reuse depends on what was asked for last.
    const { used, held: reserved } = history[0]!;
    for (const [i, later] of history.entries()) {
      const at = `at step ${20 * (i + 1)}: ${JSON.stringify(later)}`;
      assertEquals([later.used, later.peak], [used, peak], at);
      assert(Math.abs(later.held / reserved - 1) < 0.03, `${at}, ${reserved} were held at step 20`);
    }
    disposeParameters(parameters);
    for (const { first, second } of moments.values()) first.dispose(), second.dispose();
    assertEquals(tf.memory().numTensors, before);
  },
);

/**
 * Trains the classifier at the size of the paper's ArXiv runs on made-up tokens, and prints what
 * each step takes: seconds, tensors, bytes on the device and of the process.
 *
 *     deno run -A bench/long_documents.ts [--backend webgpu] [--documents 64] [--length 4096]
 *       [--steps 1] [--chunk-tokens 4096] [--every 1] [--varying] [--idle]
 *
 * With `--varying` every document has a length of its own, from 1 to `--length`. `--every` prints
 * each so many steps. A full step is about 5 TFLOP, hours on a software adapter: with `--idle` a
 * device allocates all that a step takes, but its kernels do not run, and losses mean nothing.
 *
 * @module
 */
import { parseArgs } from "@std/cli/parse-args";
import * as tf from "@tensorflow/tfjs";
import { startBackend } from "../models/backend.ts";
import { type ClassifierConfig, classifierSpecs } from "../models/classifier.ts";
import { CheckedBackend } from "../models/kernels/checked_backend.ts";
import { zeroMoments } from "../models/optimizer.ts";
import { initialParameters } from "../models/parameters.ts";
import { integers, streamKey } from "../models/random.ts";
import { trainStep } from "../models/training.ts";
import { readTensor } from "../models/webgpu.ts";

const args = parseArgs(Deno.args, {
  string: ["backend", "documents", "length", "steps", "chunk-tokens", "every"],
  boolean: ["varying", "idle"],
  default: {
    backend: "webgpu",
    documents: "64",
    length: "4096",
    steps: "1",
    "chunk-tokens": "4096",
    every: "1",
  },
});
const length = Number(args.length), steps = Number(args.steps), count = Number(args.documents);
const config: ClassifierConfig = {
  fusion: "gate_scalar",
  gateTaps: 3,
  gateReduce: "none",
  encoding: "sinusoidal",
  maxDistance: 16,
  vocabulary: 50_000,
  maxLength: length,
  classes: 11,
  d: 128,
  heads: 8,
  layers: 2,
  dFf: 256,
  activation: "relu",
};

/** Documents of step `step`, and their number of tokens. */
function batch(step: number) {
  const lengths = args.varying
    ? [...integers(streamKey(0, `length/${step}`), count, length)].map((n) => n + 1)
    : new Array<number>(count).fill(length);
  const offsets = new Int32Array(count + 1);
  lengths.forEach((n, i) => offsets[i + 1] = offsets[i]! + n);
  const tokens = offsets[count]!;
  return {
    ids: integers(streamKey(0, `ids/${step}`), tokens, config.vocabulary - 2).map((id) => id + 2),
    labels: integers(streamKey(0, `labels/${step}`), count, config.classes),
    offsets,
  };
}

/** A figure of this process in bytes; 0 where the system does not say. */
function processBytes(name: "VmRSS" | "VmHWM"): number {
  if (Deno.build.os !== "linux") return 0;
  const status = Deno.readTextFileSync("/proc/self/status");
  return 1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
}

await startBackend(args.backend as "webgpu" | "wasm");
const device = tf.backend() instanceof CheckedBackend ? tf.backend() as CheckedBackend : undefined;
const on = device !== undefined
  ? (await navigator.gpu.requestAdapter())?.info.description || "an unnamed adapter"
  : "this processor";
if (args.idle) GPUComputePassEncoder.prototype.dispatchWorkgroups = () => {};
console.log(
  `${args.idle ? "idle " : ""}${args.backend} on ${on}: ${steps} steps of ${count} documents of ` +
    `${args.varying ? "1 to " : ""}${length} tokens, ${args["chunk-tokens"]} tokens at once`,
);
const parameters = initialParameters(classifierSpecs(config), { seed: 0 });
const moments = zeroMoments(parameters);
const mb = (bytes: number) => (bytes / 2 ** 20).toFixed(1).padStart(8);
console.log(
  "step  seconds     loss  tensors  buffers  tensor MB  device MB  its peak  with free  process MB  " +
    "its peak",
);
for (let step = 1; step <= steps; step++) {
  const documents = batch(step);
  const begun = performance.now();
  const loss = trainStep(parameters, {
    config,
    documents,
    chosen: documents.labels.map((_, i) => i),
    seed: 0,
    step,
    dropoutRate: 0.1,
    optimizer: { kind: "adam", learningRate: 3e-4 },
    moments,
    chunkTokens: Number(args["chunk-tokens"]),
  });
  const [value] = await readTensor(loss);
  loss.dispose();
  if (step % Number(args.every) !== 0 && step !== 1 && step !== steps) continue;
  const memory = tf.memory();
  console.log([
    String(step).padStart(4),
    ((performance.now() - begun) / 1000).toFixed(2).padStart(7),
    value!.toFixed(4).padStart(7),
    String(memory.numTensors).padStart(7),
    String(memory.numDataBuffers).padStart(7),
    mb(memory.numBytes).padStart(9),
    mb(device?.buffers.numBytesUsed ?? 0).padStart(9),
    mb(device?.buffers.numBytesPeak ?? 0),
    mb(device?.buffers.numBytesAllocated ?? 0).padStart(9),
    mb(processBytes("VmRSS")).padStart(10),
    mb(processBytes("VmHWM")),
  ].join("  "));
}

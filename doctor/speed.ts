/**
 * How fast the current backend multiplies and copies, beside the most that its device shows where
 * nothing else is in the way.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { CheckedBackend } from "../models/kernels/checked_backend.ts";
import { linear } from "../models/operations/linear.ts";
import { normal, streamKey } from "../models/random.ts";
import { readTensor } from "../models/webgpu.ts";
import { bestSeconds } from "./timing.ts";
import { peakLoops } from "./wasm_module.ts";

/** Speeds of a backend. */
export interface Speed {
  /** Rows and columns of the product's factors. */
  readonly productSize: number;
  readonly productGflops: number;
  /** Products and sums in registers alone. */
  readonly peakGflops: number;
  /** Read and written. */
  readonly copyGBytes: number;
}

const MEASURED_S = 0.4;
/** Large enough that a device is busy, and reading the answer counts for little. */
const LONG_S = 0.05;
const MAX_SIZE = 4096;

/** Measures it; `fused`: whether the backend fuses products and sums. */
export async function speedOf(fused: boolean): Promise<Speed> {
  const backend = tf.backend();
  const product = await productSpeed();
  return backend instanceof CheckedBackend
    ? { ...product, peakGflops: await devicePeak(), copyGBytes: await deviceCopy(backend) }
    : { ...product, peakGflops: await hostPeak(fused), copyGBytes: await hostCopy() };
}

/** Runs until a tensor of the device has been computed. */
async function finished(tensor: tf.Tensor): Promise<void> {
  const one = tf.tidy(() => tf.slice(tf.reshape(tensor, [-1]), 0, 1));
  await readTensor(one);
  tf.dispose([tensor, one]);
}

async function productSpeed(): Promise<Pick<Speed, "productSize" | "productGflops">> {
  for (let n = 256;; n *= 2) {
    const [a, b] = [0, 1].map((i) => tf.tensor2d(normal(streamKey(i, "doctor"), n * n), [n, n]));
    const multiply = () => finished(linear(a!, b!));
    // Long enough for V8 to compile what it first only interprets.
    const seconds = await bestSeconds(multiply, MEASURED_S);
    const isLast = seconds > LONG_S || n === MAX_SIZE;
    tf.dispose([a!, b!]);
    if (isLast) return { productSize: n, productGflops: 2 * n ** 3 / seconds / 1e9 };
  }
}

async function hostPeak(fused: boolean): Promise<number> {
  const turns = 200_000;
  let best = 0;
  for (const { run, operations } of peakLoops(fused)) {
    best = Math.max(best, turns * operations / await bestSeconds(() => run(turns), MEASURED_S));
  }
  return best / 1e9;
}

async function hostCopy(): Promise<number> {
  const from = new Float32Array(1 << 23).fill(1), to = new Float32Array(from.length);
  return 2 * from.byteLength / await bestSeconds(() => to.set(from), MEASURED_S) /
    1e9;
}

/** Has work done more often until it takes long enough to be timed: how often, and what that took. */
async function untilLong(
  run: (times: number) => Promise<void>,
  first: number,
  max: number,
): Promise<{ times: number; seconds: number }> {
  for (let times = first;; times *= 4) {
    const seconds = await bestSeconds(() => run(times), 0);
    if (seconds >= LONG_S || times >= max) return { times, seconds };
  }
}

const LANES = 64, VECTORS = 8;

/** As WGSL's `fma` over vectors in registers. */
async function devicePeak(): Promise<number> {
  const backend = tf.backend() as CheckedBackend, groups = 1024;
  const run = (turns: number) => {
    const [info] = backend.runShader({
      name: "doctorPeak",
      code: () => `
        @group(0) @binding(0) var<storage, read_write> y : array<f32>;
        @group(0) @binding(1) var<uniform> turns : u32;
        @compute @workgroup_size(${LANES})
        fn main(@builtin(global_invocation_id) id : vec3<u32>) {
          let x = vec4<f32>(0.999);
          let z = vec4<f32>(0.001);
          ${vectors((v) => `var v${v} = vec4<f32>(f32(id.x + ${v}u));`)}
          for (var i = 0u; i < turns; i = i + 1u) {
            ${vectors((v) => `v${v} = fma(v${v}, x, z);`)}
          }
          y[id.x] = dot(x, ${Array.from({ length: VECTORS }, (_, v) => `v${v}`).join(" + ")});
        }`,
      reads: [],
      outputs: [[groups * LANES]],
      uniforms: [{ type: "uint32", data: [turns] }],
      workgroups: [groups, 1, 1],
    });
    return finished(tf.engine().makeTensorFromTensorInfo(info!));
  };
  const operations = (turns: number) => groups * LANES * VECTORS * 4 * 2 * turns;
  await run(16);
  const { times, seconds } = await untilLong(run, 16, 1 << 20);
  const best = Math.min(seconds, await bestSeconds(() => run(times), MEASURED_S));
  return operations(times) / best / 1e9;
}

const vectors = (code: (vector: number) => string) =>
  Array.from({ length: VECTORS }, (_, v) => code(v)).join("\n");

/** A tensor copied by a shader, some times for each answer that is waited for. */
async function deviceCopy(backend: CheckedBackend): Promise<number> {
  const { maxStorageBufferBindingSize, maxComputeWorkgroupsPerDimension } = backend.device.limits;
  const most = Math.min(
    maxStorageBufferBindingSize / 16,
    LANES * maxComputeWorkgroupsPerDimension,
    1 << 22,
  );
  const n = LANES * Math.floor(most / LANES);
  const x = tf.ones([4 * n]);
  const copy = () => {
    const [info] = backend.runShader({
      name: "doctorCopy",
      code: () => `
        @group(0) @binding(0) var<storage, read_write> y : array<vec4<f32>>;
        @group(0) @binding(1) var<storage, read> x : array<vec4<f32>>;
        @compute @workgroup_size(${LANES})
        fn main(@builtin(global_invocation_id) id : vec3<u32>) { y[id.x] = x[id.x]; }`,
      reads: [x],
      outputs: [[4 * n]],
      uniforms: [],
      workgroups: [n / LANES, 1, 1],
    });
    return tf.engine().makeTensorFromTensorInfo(info!);
  };
  const run = async (times: number) => {
    for (let i = 1; i < times; i++) copy().dispose();
    await finished(copy());
  };
  await run(1);
  const { times, seconds } = await untilLong(run, 1, 1024);
  x.dispose();
  return times * 2 * 16 * n / seconds / 1e9;
}

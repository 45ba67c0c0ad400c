/**
 * tfjs's `webgpu` backend on a device of our own, whose errors stop the run: tfjs alone would
 * return zeros where a device limit is passed.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { CheckedBackend } from "./kernels/checked_backend.ts";

/**
 * A tensor's values, on any backend.
 *
 * @throws {Error} If the device reported an error since the last read: what it computed after it
 *   cannot be trusted.
 */
export async function readTensor(tensor: tf.Tensor): Promise<Float32Array> {
  const backend = tf.backend();
  if (!(backend instanceof CheckedBackend)) return await tensor.data() as Float32Array;
  let values: Float32Array | undefined, cause: unknown;
  try {
    values = await tensor.data() as Float32Array;
  } catch (error) {
    cause = error;
  }
  // A report comes as an event of its own, which may follow the values it is about.
  await new Promise((resolve) => setTimeout(resolve, 0));
  const failure = backend.takeFailure();
  if (failure !== undefined) {
    failure.cause = cause;
    throw failure;
  }
  if (values === undefined) throw cause;
  return values;
}

/** Pieces of work that are sent to a device before it is waited for: what they take in memory waits. */
export const MAX_UNREAD = 64;

/**
 * Values of scalars, read at once: Deno asks a device every ten milliseconds whether a read is done,
 * longer than many a step takes.
 *
 * @throws {Error} As {@linkcode readTensor}.
 */
export async function readScalars(scalars: readonly tf.Scalar[]): Promise<Float32Array> {
  const together = tf.stack([...scalars]);
  try {
    return await readTensor(together);
  } finally {
    together.dispose();
  }
}

/**
 * Registers the backend, with the adapter's own limits.
 *
 * @throws {Error} If this machine offers no adapter.
 */
export async function startWebgpu(): Promise<void> {
  // Not by asking tfjs: that would start the package's own backend, which then replaces this one.
  if (started) return;
  const adapter = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null || adapter === undefined) {
    throw new Error(
      'Cannot start backend "webgpu": this machine offers no adapter; use wasm, or install a ' +
        "Vulkan driver",
    );
  }
  const limits: Record<string, number> = {};
  for (
    const name of [
      "maxBufferSize",
      "maxStorageBufferBindingSize",
      "maxComputeWorkgroupStorageSize",
      "maxComputeWorkgroupsPerDimension",
      "maxComputeInvocationsPerWorkgroup",
      "maxComputeWorkgroupSizeX",
      "maxStorageBuffersPerShaderStage",
    ] as const
  ) limits[name] = adapter.limits[name];
  const device = await adapter.requestDevice({ requiredLimits: limits });
  tf.env().set("WEBGPU_CPU_FORWARD", false);
  // One matmul program for all shapes: the split-K one adds with atomics in any order.
  tf.env().set("WEBGPU_MATMUL_PROGRAM_TYPE", 3);
  // Importing the package registered a factory that asks for no limits.
  tf.removeBackend("webgpu");
  started = true;
  tf.registerBackend("webgpu", () => new CheckedBackend(device, adapter.info), 3);
}

let started = false;

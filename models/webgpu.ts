/**
 * tfjs's `webgpu` backend on a device of our own, whose errors stop the run: tfjs alone would
 * return zeros where a device limit is passed.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";

let firstError: string | undefined;

/**
 * A tensor's values, on any backend.
 *
 * @throws {Error} If the device reported an error since the last read: what it computed after it
 *   cannot be trusted.
 */
export async function readTensor(tensor: tf.Tensor): Promise<Float32Array> {
  const values = await tensor.data() as Float32Array;
  if (firstError !== undefined) {
    const message = firstError;
    firstError = undefined;
    throw new Error(`Cannot compute on the device: it reported: ${message}`);
  }
  return values;
}

/**
 * Registers the backend, with the adapter's own limits.
 *
 * @throws {Error} If this machine offers no adapter.
 */
export async function startWebgpu(): Promise<void> {
  if (tf.findBackend("webgpu") instanceof WebGPUBackend) return;
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
  device.addEventListener("uncapturederror", (event) => {
    event.preventDefault();
    firstError ??= (event as GPUUncapturedErrorEvent).error.message;
  });
  tf.env().set("WEBGPU_CPU_FORWARD", false);
  // One matmul program for all shapes: the split-K one adds with atomics in any order.
  tf.env().set("WEBGPU_MATMUL_PROGRAM_TYPE", 3);
  // Importing the package registered a factory that asks for no limits.
  tf.removeBackend("webgpu");
  tf.registerBackend("webgpu", () => new WebGPUBackend(device, adapter.info), 3);
}

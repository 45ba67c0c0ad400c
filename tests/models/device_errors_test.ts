import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@tensorflow/tfjs";
import { CheckedBackend } from "../../models/kernels/checked_backend.ts";
import { runDevice } from "../../models/kernels/device.ts";
import { MemoryError } from "../../models/memory_error.ts";
import { readTensor } from "../../models/webgpu.ts";
import { testOn } from "./rig.ts";

const backend = () => tf.backend() as CheckedBackend;

testOn(
  ["webgpu"],
  "the first start gives the checked backend, with the adapter's limits",
  async () => {
    assert(tf.backend() instanceof CheckedBackend);
    const adapter = await navigator.gpu.requestAdapter();
    for (
      const name of ["maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage"] as const
    ) {
      assertEquals(backend().device.limits[name], adapter!.limits[name]);
    }
  },
);

testOn(["webgpu"], "a tensor larger than a binding is refused before it is allocated", async () => {
  const limit = backend().device.limits.maxStorageBufferBindingSize;
  const rows = Math.floor(limit / 4096) + 1;
  const x = tf.ones([1, 1024]);
  tf.dispose(tf.add(x, 1));
  await readTensor(x);
  const before = tf.memory() as unknown as { numBytesInGPU: number };
  const message = assertThrows(() => tf.tidy(() => tf.tile(x, [rows, 1])), MemoryError).message;
  assert(message.includes(`shape [${rows},1024] takes ${rows * 4096} bytes`), message);
  assert(message.includes(`maxStorageBufferBindingSize is ${limit}`), message);
  assert(message.includes("TileProgram"), message);
  const after = tf.memory() as unknown as { numBytesInGPU: number };
  assertEquals(after.numBytesInGPU, before.numBytesInGPU);
  // The run goes on: nothing reached the device.
  const fine = tf.tidy(() => tf.slice(x, [0, 0], [1, 3]));
  assertEquals([...await readTensor(fine)], [1, 1, 1]);
  tf.dispose([x, fine]);
});

testOn(["webgpu"], "more workgroups than a dimension may have are refused", () => {
  const most = backend().device.limits.maxComputeWorkgroupsPerDimension;
  assertThrows(
    () =>
      backend().runShader({
        name: "wide",
        code: () => "",
        reads: [],
        outputs: [[1]],
        uniforms: [],
        workgroups: [1, most + 1, 1],
      }),
    MemoryError,
    `Cannot run kernel "wide": it takes [1,${most + 1},1] workgroups`,
  );
});

testOn(["webgpu"], "what the device reports names the kernel, not those after it", async () => {
  const x = tf.ones([4]);
  const bad = runDevice("wrong", { inputs: { x }, output: [4], element: "this is not WGSL" });
  const later = tf.add(x, 1);
  const error = await assertRejects(() => readTensor(later), Error);
  assert(error.message.includes('kernel "lockstep.wrong"'), error.message);
  tf.dispose([x, bad, later]);
});

testOn(["webgpu"], "a device out of memory is distinguished from one that fails", async () => {
  const x = tf.ones([4]);
  const report = (error: GPUError) =>
    backend().device.dispatchEvent(new GPUUncapturedErrorEvent("uncapturederror", { error }));
  report(new GPUOutOfMemoryError("no memory left"));
  await assertRejects(() => readTensor(x), MemoryError, "no memory left");
  report(new GPUValidationError("no such binding"));
  const error = await assertRejects(() => readTensor(x), Error, "no such binding");
  assert(!(error instanceof MemoryError));
  x.dispose();
});

testOn(["webgpu"], "a lost device ends the run and names the latest kernels", async () => {
  const x = tf.ones([4]);
  const y = runDevice("last", {
    inputs: { x },
    output: [4],
    element: "setOutputAtIndex(index, 2.0 * x[index]);",
  });
  backend().device.destroy();
  const error = await assertRejects(() => readTensor(y), Error);
  assert(error.message.includes("was lost"), error.message);
  assert(error.message.includes("newest first lockstep.last"), error.message);
});

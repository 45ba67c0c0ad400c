/**
 * Starts the backend the tensors live on.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { BackendWasm } from "@tensorflow/tfjs-backend-wasm";
import "@tensorflow/tfjs-backend-wasm";
import { startWebgpu } from "./webgpu.ts";

/** Where tensors live and are computed. */
export type BackendName = "webgpu" | "wasm" | "cpu";

/**
 * Makes `name` the current backend.
 *
 * @throws {Error} If it cannot be started here.
 */
export async function startBackend(name: BackendName): Promise<void> {
  quietly(() => tf.engine().backendNames());
  if (name === "webgpu") await startWebgpu();
  if (!await tf.setBackend(name)) {
    throw new Error(`Cannot start backend "${name}": tfjs refused it here; try wasm or cpu`);
  }
  await tf.ready();
  if (name === "wasm") shareOnClone();
  if (name === "cpu") quietly(() => tf.scalar(0).dispose());
}

/** Runs `work` without tfjs's advice on faster backends, which its first tensor prints. */
function quietly(work: () => unknown): void {
  const before = tf.env().getBool("IS_TEST");
  tf.env().set("IS_TEST", true);
  work();
  tf.env().set("IS_TEST", before);
}

/** Lets a clone share its original's memory on `wasm`, as on the other backends. */
function shareOnClone(): void {
  if (sharing) return;
  sharing = true;
  tf.unregisterKernel("Identity", "wasm");
  tf.registerKernel({
    kernelName: "Identity",
    backendName: "wasm",
    kernelFunc: ({ inputs, backend }) => {
      const { dataId, shape, dtype } = inputs.x!;
      (backend as BackendWasm).incRef(dataId);
      return { dataId, shape, dtype };
    },
  });
}

let sharing = false;

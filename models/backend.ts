/**
 * Starts the backend the tensors live on.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { BackendWasm } from "@tensorflow/tfjs-backend-wasm";
import { setWasmPaths } from "@tensorflow/tfjs-backend-wasm";
import wasmBinary from "@tensorflow/tfjs-backend-wasm/wasm-out/tfjs-backend-wasm-simd.wasm" with {
  type: "bytes",
};
import { type Arithmetic, chooseLoops } from "./kernels/wasm.ts";
import { MemoryError } from "./memory_error.ts";
import { startWebgpu } from "./webgpu.ts";

/** What starting each backend takes: what tfjs calls it, and before and after it is the current one. */
const STARTS = {
  webgpu: { tfjs: "webgpu", before: startWebgpu, after() {} },
  "wasm+fma": { tfjs: "wasm", before: provideBinary, after: () => startWasm("fused") },
  wasm: { tfjs: "wasm", before: provideBinary, after: () => startWasm("strict") },
  cpu: { tfjs: "cpu", before() {}, after: () => quietly(() => tf.scalar(0).dispose()) },
};

/**
 * Where tensors live and are computed: the backends that models can start. Those that can be asked
 * for are the engine's to name; a stage that hands one over compiles if it is among these.
 */
export type BackendName = keyof typeof STARTS;

/**
 * Makes `name` the current backend.
 *
 * @throws {Error} If it cannot be started here.
 */
export async function startBackend(name: BackendName): Promise<void> {
  quietly(() => tf.engine().backendNames());
  await STARTS[name].before();
  if (!await tf.setBackend(STARTS[name].tfjs)) {
    throw new Error(`Cannot start backend "${name}": tfjs refused it here; try wasm or cpu`);
  }
  await tf.ready();
  STARTS[name].after();
}

/** Runs `work` without tfjs's advice on faster backends, which its first tensor prints. */
function quietly(work: () => unknown): void {
  const before = tf.env().getBool("IS_TEST");
  tf.env().set("IS_TEST", true);
  work();
  tf.env().set("IS_TEST", before);
}

function startWasm(arithmetic: Arithmetic): void {
  const backend = tf.backend() as BackendWasm;
  shareOnClone();
  checkAllocations(backend.wasm as unknown as Allocating);
  chooseLoops(backend, arithmetic);
}

/**
 * Hands tfjs its binary, which it would read from beside its code. Deno has SIMD, and tfjs uses no
 * threads there, so that one is all it asks for.
 */
function provideBinary(): void {
  if (provided) return;
  provided = true;
  const url = `data:application/wasm;base64,${wasmBinary.toBase64()}`;
  const names = ["", "-simd", "-threaded-simd"].map((kind) => `tfjs-backend-wasm${kind}.wasm`);
  setWasmPaths(Object.fromEntries(names.map((file) => [file, url])), true);
}

let provided = false;

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

interface Allocating {
  readonly HEAPU8: Uint8Array;
  _malloc(bytes: number): number;
  _free(address: number): void;
}

/**
 * Refuses what does not fit. tfjs takes what it is given for memory: address 0, where all such
 * tensors would lie, or one past the end.
 */
function checkAllocations(wasm: Allocating): void {
  if (checked.has(wasm)) return;
  checked.add(wasm);
  // Its first call puts another function in its place.
  wasm._free(wasm._malloc(1));
  const original = wasm._malloc;
  wasm._malloc = (bytes) => {
    const address = original(bytes);
    if (address === 0 || (address >>> 0) + bytes > wasm.HEAPU8.byteLength) {
      throw new MemoryError(
        `Cannot allocate ${bytes} bytes: the wasm backend has at most 4 GiB, and already ` +
          `${wasm.HEAPU8.byteLength}`,
      );
    }
    return address;
  };
}

const checked = /* @__PURE__ */ new WeakSet<Allocating>();

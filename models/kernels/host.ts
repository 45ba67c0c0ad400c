/**
 * Kernels that run on this machine's processor: a kernel is a function over float arrays that
 * runs in place, on the memory of tfjs's `wasm` and `cpu` backends, without a copy.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { BackendWasm } from "@tensorflow/tfjs-backend-wasm";
import type { Loops } from "./scalar.ts";
import { scalarLoops } from "./scalar.ts";
import { wasmLoops } from "./wasm.ts";

/** What a kernel reads and writes. */
export interface HostCall {
  readonly inputs: readonly tf.Tensor[];
  /** Shapes of the float32 results; their contents are undefined until the body fills them. */
  readonly outputs: readonly (readonly number[])[];
  /** Lengths of float32 work arrays, undefined contents, reused between calls. */
  readonly scratch?: readonly number[];
}

/** A kernel's work over the arrays of a {@linkcode HostCall}, in its order. */
export type HostBody = (
  inputs: Float32Array[],
  outputs: Float32Array[],
  scratch: Float32Array[],
  loops: Loops,
) => void;

/** Whether the current backend computes on this machine's processor. */
export function onHost(): boolean {
  return tf.getBackend() === "wasm" || tf.getBackend() === "cpu";
}

const scratchCpu = /* @__PURE__ */ new Map<number, Float32Array>();

function cpuScratch(slot: number, length: number): Float32Array {
  let array = scratchCpu.get(slot);
  if (array === undefined || array.length < length) {
    array = new Float32Array(length);
    scratchCpu.set(slot, array);
  }
  return array.subarray(0, length);
}

function runOnWasm(
  backend: BackendWasm,
  call: HostCall,
  body: HostBody,
): tf.TensorInfo[] {
  const bound = wasmLoops(backend);
  const infos = call.outputs.map((shape) => backend.makeOutput([...shape], "float32"));
  // Everything is allocated before any view is taken: growing memory detaches views.
  const slots = (call.scratch ?? []).map((length, slot) => bound.reserve(slot, length));
  body(
    call.inputs.map((x) => backend.typedArrayFromHeap(x) as Float32Array),
    infos.map((x) => backend.typedArrayFromHeap(x) as Float32Array),
    slots.map((slot) => slot()),
    bound.loops,
  );
  return infos;
}

interface CpuBackend {
  readSync(dataId: object): Float32Array;
  makeTensorInfo(shape: number[], dtype: "float32", values: Float32Array): tf.TensorInfo;
}

function runOnCpu(backend: CpuBackend, call: HostCall, body: HostBody): tf.TensorInfo[] {
  const outputs = call.outputs.map((shape) => new Float32Array(tf.util.sizeFromShape([...shape])));
  body(
    call.inputs.map((x) => backend.readSync(x.dataId)),
    outputs,
    (call.scratch ?? []).map((length, slot) => cpuScratch(slot, length)),
    scalarLoops,
  );
  return outputs.map((values, i) =>
    backend.makeTensorInfo([...call.outputs[i]!], "float32", values)
  );
}

/**
 * Runs a kernel on the current backend; `name` is for messages. It has no gradient: call it inside
 * {@linkcode differentiable}. It is not one of tfjs's registered kernels, whose bookkeeping takes longer
 * than small ones run.
 *
 * @throws {Error} If the current backend is not `wasm` or `cpu`.
 */
export function runHost(name: string, call: HostCall, body: HostBody): tf.Tensor[] {
  const backendName = tf.getBackend();
  if (!onHost()) {
    throw new Error(
      `Cannot run kernel "${name}" on backend "${backendName}": it is written for wasm and cpu`,
    );
  }
  const infos = backendName === "wasm"
    ? runOnWasm(tf.backend() as BackendWasm, call, body)
    : runOnCpu(tf.backend() as unknown as CpuBackend, call, body);
  return infos.map((info) => tf.engine().makeTensorFromTensorInfo(info));
}

/**
 * A tensor with its own gradient: `forward` gives the value and what to keep for `backward`, which
 * gives one gradient for each input.
 */
export function differentiable<T extends tf.Tensor>(
  inputs: readonly tf.Tensor[],
  forward: () => { value: tf.Tensor; keep: readonly tf.Tensor[] },
  backward: (dy: tf.Tensor, kept: tf.Tensor[]) => tf.Tensor[],
): T {
  const operation = tf.customGrad((...all: (tf.Tensor | tf.GradSaveFunc)[]) => {
    const save = all[all.length - 1] as tf.GradSaveFunc;
    const { value, keep } = forward();
    save([...keep]);
    return { value, gradFunc: (dy: tf.Tensor, kept: tf.Tensor[]) => backward(dy, kept) };
  });
  return operation(...inputs) as T;
}

/**
 * tfjs's `webgpu` backend with what tfjs leaves out: sizes are checked against the device's limits
 * before anything is allocated, and what the device reports later is traced to a kernel by name.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import { MemoryError } from "../memory_error.ts";
import { BufferPool } from "./buffer_pool.ts";

/** Kernels named in an error that names none itself. */
const RECENT = 8;

type Program = Parameters<WebGPUBackend["runWebGPUProgram"]>[0];
type Uniforms = NonNullable<Parameters<WebGPUBackend["runWebGPUProgram"]>[3]>;

/** A kernel with a WGSL entry point of its own; see {@linkcode CheckedBackend.runShader}. */
export interface Shader {
  /** Identifies the code: two shaders of one name have the same code. */
  readonly name: string;
  /**
   * Declares entry point `main`; in group 0 the written tensors come first (read_write storage),
   * then those that are read (read storage), then, if there are any, the uniforms.
   */
  readonly code: () => string;
  readonly reads: readonly tf.TensorInfo[];
  /** Tensors changed in place. */
  readonly changes?: readonly tf.TensorInfo[];
  /** Shapes of new float32 tensors, bound after those of `changes`. */
  readonly outputs: readonly (readonly number[])[];
  /** 32-bit scalars in the order of the uniform struct's fields. */
  readonly uniforms: Uniforms;
  readonly workgroups: readonly [number, number, number];
}

interface Private {
  readonly disposed: boolean;
  pipelineCache: Record<string, GPUComputePipeline>;
  commandEncoder: GPUCommandEncoder;
  computePassEncoder: GPUComputePassEncoder | null;
  commandQueueOwnedIds: WeakSet<object>;
  dispatchCountInPass: number;
  tensorToBinding(tensor: tf.TensorInfo): GPUBindingResource;
  makeUniforms(uniforms: Uniforms): GPUBindingResource;
}

export class CheckedBackend extends WebGPUBackend {
  readonly #names = new Set<string>();
  readonly #recent: string[] = [];
  #failure: Error | undefined;
  readonly buffers: BufferPool;

  constructor(device: GPUDevice, info: GPUAdapterInfo) {
    super(device, info);
    this.buffers = new BufferPool(device);
    this.bufferManager = this.buffers as unknown as WebGPUBackend["bufferManager"];
    // A kernel sees its tensor alone, not what else there is of the buffer.
    (this as unknown as Private).tensorToBinding = ({ dataId }) => {
      const buffer = this.tensorMap.get(dataId).resource as GPUBuffer;
      return { buffer, size: this.buffers.askedFor(buffer) };
    };
    device.addEventListener("uncapturederror", (event) => {
      event.preventDefault();
      const { error } = event as GPUUncapturedErrorEvent;
      const { message } = error;
      const what = `the device reported for ${this.#suspect(message)}: ${message}`;
      this.#failure ??= failureOf(what, error instanceof GPUOutOfMemoryError ? MemoryError : Error);
    });
    device.lost.then(({ message, reason }) => {
      if ((this as unknown as Private).disposed) return;
      this.#failure ??= failureOf(
        `the device was lost (${reason}: ${message}) after ${this.#suspect("")}`,
      );
    });
    this.#label("createBindGroup");
    this.#label("createBuffer");
    this.#label("createComputePipeline");
    this.#label("createShaderModule");
  }

  /** What went wrong since the last call, if anything did: nothing computed since can be trusted. */
  takeFailure(): Error | undefined {
    const failure = this.#failure;
    this.#failure = undefined;
    return failure;
  }

  /** Gives what the device makes the name of the kernel it is made for: messages quote it. */
  #label(
    method: "createBindGroup" | "createBuffer" | "createComputePipeline" | "createShaderModule",
  ) {
    const device = this.device as unknown as Record<string, (descriptor: object) => unknown>;
    const original = device[method]!.bind(this.device);
    Object.defineProperty(device, method, {
      value: (descriptor: object) => original({ ...descriptor, label: this.#recent.at(-1) ?? "" }),
      configurable: true,
    });
  }

  #suspect(message: string): string {
    // wgpu quotes labels so: 'x', Dawn so: "x", and a label that is quoted already so: ""x"".
    const quoted = [...message.matchAll(/(['"])\1?([^'"]+)\1/g)].map(([, , label]) => label!);
    const named = quoted.find((label) => this.#names.has(label));
    if (named !== undefined) return `kernel "${named}"`;
    const last = [...new Set(this.#recent.toReversed())].slice(0, RECENT);
    return last.length === 0
      ? "no kernel"
      : `one of the latest kernels, newest first ${last.join(", ")}`;
  }

  #begin(name: string): void {
    this.#names.add(name);
    if (this.#recent.push(name) > 10 * RECENT) this.#recent.splice(0, 9 * RECENT);
  }

  /** Every tensor's memory is allocated here, inputs and results alike. */
  override uploadToGPU(dataId: object): void {
    const data = this.tensorMap.get(dataId);
    if (data.resource == null) checkSize(this.device.limits, this.#recent.at(-1) ?? "", data);
    super.uploadToGPU(dataId);
  }

  override async getBufferData(buffer: GPUBuffer): Promise<ArrayBuffer> {
    const size = this.buffers.askedFor(buffer);
    return (await super.getBufferData(buffer)).slice(0, size);
  }

  override runWebGPUProgram(
    program: Program,
    inputs: tf.TensorInfo[],
    dtype: tf.DataType,
    uniforms?: Uniforms,
    output?: tf.TensorInfo,
  ): tf.TensorInfo {
    const own = program.shaderKey.startsWith("lockstep.");
    const name = own ? program.shaderKey : program.constructor.name;
    this.#begin(name);
    checkWorkgroups(this.device.limits, name, program);
    return super.runWebGPUProgram(program, inputs, dtype, uniforms, output);
  }

  /** Runs a shader of several results, in order with tfjs's own programs. */
  runShader(shader: Shader): tf.TensorInfo[] {
    const own = this as unknown as Private;
    this.#begin(`lockstep.${shader.name}`);
    const [x, y, z] = shader.workgroups;
    checkWorkgroups(this.device.limits, shader.name, { dispatch: [x, y, z] });
    const outputs = shader.outputs.map((shape) => this.makeTensorInfo([...shape], "float32"));
    const tensors = [...shader.changes ?? [], ...outputs, ...shader.reads];
    for (const { dataId } of tensors) {
      this.uploadToGPU(dataId);
      own.commandQueueOwnedIds.add(dataId);
    }
    // Values that were read before are kept by tfjs, and would be given again.
    for (const { dataId } of shader.changes ?? []) {
      (this.tensorMap.get(dataId) as { values: unknown }).values = null;
    }
    const pipeline = own.pipelineCache[`lockstep.${shader.name}`] ??= this.device
      .createComputePipeline({
        layout: "auto",
        compute: {
          module: this.device.createShaderModule({ code: shader.code() }),
          entryPoint: "main",
        },
      });
    const bindings = tensors.map((tensor) => own.tensorToBinding(tensor));
    if (shader.uniforms.length > 0) bindings.push(own.makeUniforms(shader.uniforms));
    const group = this.device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: bindings.map((resource, binding) => ({ binding, resource })),
    });
    this.ensureCommandEncoderReady();
    own.computePassEncoder ??= own.commandEncoder.beginComputePass();
    own.computePassEncoder.setPipeline(pipeline);
    own.computePassEncoder.setBindGroup(0, group);
    own.computePassEncoder.dispatchWorkgroups(x, y, z);
    if (++own.dispatchCountInPass >= tf.env().getNumber("WEBGPU_DEFERRED_SUBMIT_BATCH_SIZE")) {
      this.endComputePassEncoder();
      this.submitQueue();
    }
    return outputs;
  }
}

function failureOf(what: string, kind: ErrorConstructor | typeof MemoryError = Error): Error {
  return new kind(`Cannot compute on the device: ${what}`);
}

/** @throws {MemoryError} If a tensor is larger than a buffer or a binding of one may be. */
function checkSize(
  limits: GPUSupportedLimits,
  name: string,
  { shape, dtype }: { shape: number[]; dtype: string },
): void {
  const bytes = tf.util.sizeFromShape(shape) * (dtype === "complex64" ? 8 : 4);
  for (const limit of ["maxStorageBufferBindingSize", "maxBufferSize"] as const) {
    if (bytes > limits[limit]) {
      throw new MemoryError(
        `Cannot run kernel "${name}": a tensor of shape [${shape}] takes ${bytes} bytes; this ` +
          `device's ${limit} is ${limits[limit]}`,
      );
    }
  }
}

/** @throws {MemoryError} If a dimension has more workgroups than it may and tfjs cannot fold it. */
function checkWorkgroups(
  limits: GPUSupportedLimits,
  name: string,
  program: { dispatch: number[]; dispatchLayout?: { y?: number[]; z?: number[] } },
): void {
  const max = limits.maxComputeWorkgroupsPerDimension;
  const layout = program.dispatchLayout;
  const folds = layout !== undefined && layout.y === undefined && layout.z === undefined;
  if (program.dispatch.some((n) => n > (folds ? max ** 3 : max))) {
    throw new MemoryError(
      `Cannot run kernel "${name}": it takes [${program.dispatch}] workgroups; this device's ` +
        `maxComputeWorkgroupsPerDimension is ${max}`,
    );
  }
}

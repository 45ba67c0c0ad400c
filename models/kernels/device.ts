/**
 * Kernels for tfjs's `webgpu` backend where tfjs has none, or one that adds in no fixed order. Each
 * result element is computed by one invocation alone: no atomics, no order that could vary.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { webgpu_util, WebGPUBackend } from "@tensorflow/tfjs-backend-webgpu";
import type { CheckedBackend, Shader } from "./checked_backend.ts";
import { differentiable } from "./host.ts";

/** A kernel that computes one float32 tensor, one element an invocation. */
export interface DeviceCall {
  readonly inputs: Readonly<Record<string, tf.Tensor>>;
  readonly output: readonly number[];
  /** int32 constants by name, `uniforms.<name>` in the code. */
  readonly integers?: Readonly<Record<string, number>>;
  /** float32 constants by name. */
  readonly floats?: Readonly<Record<string, number>>;
  /** Functions the element's code calls. */
  readonly functions?: string;
  /** WGSL statements that give element `index`, an i32, to `setOutputAtIndex`. */
  readonly element: string;
}

const WORKGROUP: [number, number, number] = [64, 1, 1];

function program(name: string, call: DeviceCall) {
  const outputShape = [...call.output];
  const dispatchLayout = webgpu_util.flatDispatchLayout(outputShape);
  const declared = [
    ...Object.keys(call.integers ?? {}).map((key) => `${key} : i32,`),
    ...Object.keys(call.floats ?? {}).map((key) => `${key} : f32,`),
  ].join(" ");
  return {
    variableNames: Object.keys(call.inputs),
    outputShape,
    workgroupSize: WORKGROUP,
    size: true,
    dispatchLayout,
    dispatch: webgpu_util.computeDispatch(dispatchLayout, outputShape, WORKGROUP),
    shaderKey: `lockstep.${name}`,
    ...(declared === "" ? {} : { uniforms: declared }),
    getUserCode: () => `
      ${call.functions ?? ""}
      fn main(index : i32) {
        if (index < uniforms.size) {
          ${call.element}
        }
      }`,
  };
}

/** Runs a kernel under a name that is its code's alone. It has no gradient. */
export function runDevice(name: string, call: DeviceCall): tf.Tensor {
  const kernelName = `lockstep.${name}`;
  if (tf.getKernel(kernelName, "webgpu") === undefined) {
    tf.registerKernel({
      kernelName,
      backendName: "webgpu",
      kernelFunc: ({ inputs, attrs, backend }) => {
        const { call } = attrs as unknown as { call: DeviceCall };
        const uniforms = [
          ...Object.values(call.integers ?? {}).map((n) => ({ type: "int32", data: [n | 0] })),
          ...Object.values(call.floats ?? {}).map((x) => ({ type: "float32", data: [x] })),
        ];
        const ordered = Object.keys(call.inputs).map((key) => inputs[key]!);
        return (backend as WebGPUBackend).runWebGPUProgram(
          program(name, call) as unknown as Parameters<WebGPUBackend["runWebGPUProgram"]>[0],
          ordered,
          "float32",
          uniforms as { type: string; data: number[] }[],
        );
      },
    });
  }
  return tf.engine().runKernel(
    kernelName,
    call.inputs as unknown as tf.NamedTensorMap,
    { call } as unknown as tf.NamedAttrMap,
  ) as tf.Tensor;
}

/** `groups` workgroups in two dimensions, since one alone may be too short; some may be too many. */
export function spread(groups: number): [number, number, number] {
  const across = Math.min(groups, 1 << 15);
  return [across, Math.ceil(groups / across), 1];
}

/** Runs a shader of several results. It has no gradient. */
export function runShader(shader: Shader): tf.Tensor[] {
  const kernelName = `lockstep.${shader.name}`;
  if (tf.getKernel(kernelName, "webgpu") === undefined) {
    tf.registerKernel({
      kernelName,
      backendName: "webgpu",
      kernelFunc: ({ attrs, backend }) => {
        const { shader } = attrs as unknown as { shader: Shader };
        return (backend as CheckedBackend).runShader(shader);
      },
    });
  }
  const inputs = [...shader.changes ?? [], ...shader.reads].map((x, i) => [String(i), x]);
  return tf.engine().runKernel(
    kernelName,
    Object.fromEntries(inputs) as unknown as tf.NamedTensorMap,
    { shader } as unknown as tf.NamedAttrMap,
  ) as tf.Tensor[];
}

/**
 * Rows of x by number: out_i = scale × x[rows_i]; a number below 0 gives a row of zeros.
 *
 * @param x float32 [M, C].
 * @returns float32 [N, C]; without a gradient.
 */
export function gatherRows(x: tf.Tensor, rows: Int32Array, scale = 1): tf.Tensor2D {
  const c = x.shape[1]!;
  return tf.tidy(() =>
    runDevice("gatherRows", {
      inputs: { x, rows: tf.tensor1d(rows, "int32") },
      output: [rows.length, c],
      integers: { width: c },
      floats: { scale },
      element: `
        let row = rows[index / uniforms.width];
        var value = 0.0;
        if (row >= 0) { value = uniforms.scale * x[row * uniforms.width + index % uniforms.width]; }
        setOutputAtIndex(index, value);`,
    })
  ) as tf.Tensor2D;
}

/**
 * Rows of x by number, with a gradient; `back` gives for each row of x the place it was moved to,
 * below 0 if it went nowhere. No row may go to two places.
 */
export function moveRows(x: tf.Tensor, rows: Int32Array, back: Int32Array): tf.Tensor2D {
  return differentiable<tf.Tensor2D>(
    [x],
    () => ({ value: gatherRows(x, rows), keep: [] }),
    (dy) => [gatherRows(dy, back)],
  );
}

/**
 * Turns pairs of features of the first two thirds of each row.
 *
 * @param x float32 [N, 3C].
 * @param table (cos, sin) of the angles of a position, [length, d/2, 2].
 * @returns float32 [N, 3C]; without a gradient.
 */
export function deviceRotate(
  x: tf.Tensor,
  table: Float32Array,
  options: { positions: Int32Array; d: number },
): tf.Tensor {
  const { positions, d } = options;
  return tf.tidy(() =>
    runDevice("rotate", {
      inputs: {
        x,
        table: tf.tensor1d(table),
        positions: tf.tensor1d(positions, "int32"),
      },
      output: x.shape,
      integers: { width: x.shape[1]!, head: d },
      element: `
        let row = index / uniforms.width;
        let feature = index % uniforms.width;
        let angle = positions[row] * uniforms.head + (feature & -2) % uniforms.head;
        let cosine = table[angle];
        let sine = select(table[angle + 1], -table[angle + 1], (feature & 1) == 0);
        let turned = x[index] * cosine + x[index ^ 1] * sine;
        let whole = feature >= uniforms.width / 3 * 2;
        setOutputAtIndex(index, select(turned, x[index], whole));`,
    })
  );
}

/**
 * Sums of rows: out_s = scale × Σ x[order_i] over i from starts_s to starts_{s+1} − 1, in that order.
 *
 * @param x float32 [M, C].
 * @returns float32 [S, C]; without a gradient.
 */
export function sumRows(
  x: tf.Tensor,
  segments: { order: Int32Array; starts: Int32Array; scale?: number },
): tf.Tensor2D {
  const c = x.shape[1]!;
  const { order, starts, scale = 1 } = segments;
  return tf.tidy(() =>
    runDevice("sumRows", {
      inputs: {
        x,
        // A tensor cannot be empty here; an order of nothing is never read.
        order: tf.tensor1d(order.length === 0 ? Int32Array.of(0) : order, "int32"),
        starts: tf.tensor1d(starts, "int32"),
      },
      output: [starts.length - 1, c],
      integers: { width: c },
      floats: { scale },
      element: `
        let segment = index / uniforms.width;
        let feature = index % uniforms.width;
        var sum = 0.0;
        for (var i = starts[segment]; i < starts[segment + 1]; i = i + 1) {
          sum = sum + x[order[i] * uniforms.width + feature];
        }
        setOutputAtIndex(index, uniforms.scale * sum);`,
    })
  ) as tf.Tensor2D;
}

/** Rows that one invocation adds before the sums are added in turn. */
const BLOCK = 64;

/** Sums over the rows, [C], in blocks of fixed size: the same bits every time. */
export function columnSums(x: tf.Tensor): tf.Tensor {
  const [n, c] = x.shape as [number, number];
  if (n <= BLOCK) return tf.reshape(blockSums(x, n), [c]);
  const blocks = blockSums(x, BLOCK);
  const sums = blockSums(blocks, blocks.shape[0]!);
  blocks.dispose();
  return tf.reshape(sums, [c]);
}

/** Sums of each `block` rows. */
function blockSums(x: tf.Tensor, block: number): tf.Tensor {
  const [n, c] = x.shape as [number, number];
  return runDevice("blockSums", {
    inputs: { x },
    output: [Math.ceil(n / block), c],
    integers: { width: c, rows: n, block },
    element: `
      let first = index / uniforms.width * uniforms.block;
      let end = min(first + uniforms.block, uniforms.rows);
      var sum = 0.0;
      for (var row = first; row < end; row = row + 1) {
        sum = sum + x[row * uniforms.width + index % uniforms.width];
      }
      setOutputAtIndex(index, sum);`,
  });
}

/** The sum of all elements over `divisor`: 256 strided sums, then a tree. */
export function totalOf(x: tf.Tensor, divisor = 1): tf.Scalar {
  const [total] = runShader({
    name: "total",
    code: totalCode,
    reads: [x],
    outputs: [[]],
    uniforms: [{ type: "uint32", data: [x.size] }, { type: "float32", data: [divisor] }],
    workgroups: [1, 1, 1],
  });
  return total as tf.Scalar;
}

function totalCode(): string {
  return `
    struct Uniforms { size : u32, divisor : f32 };
    @group(0) @binding(0) var<storage, read_write> total : array<f32>;
    @group(0) @binding(1) var<storage, read> x : array<f32>;
    @group(0) @binding(2) var<uniform> uniforms : Uniforms;
    var<workgroup> parts : array<f32, 256>;
    @compute @workgroup_size(256)
    fn main(@builtin(local_invocation_index) lane : u32) {
      var part = 0.0;
      for (var i = lane; i < uniforms.size; i = i + 256u) { part = part + x[i]; }
      parts[lane] = part;
      for (var half = 128u; half > 0u; half = half / 2u) {
        workgroupBarrier();
        if (lane < half) { parts[lane] = parts[lane] + parts[lane + half]; }
      }
      if (lane == 0u) { total[0] = parts[0] / uniforms.divisor; }
    }`;
}

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
import { ROTATIONS, type StreamKey } from "../random.ts";

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

/** Runs a kernel under a name that stands for its code alone. It has no gradient. */
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

/**
 * Threefry-4x32-20 of counter (counter, 0, 0, 0) in WGSL, written out without loops or indexed
 * arrays: compilers take seconds over those.
 */
export function threefryCode(): string {
  const keys = ["key.x", "key.y", "key.z", "key.w", "parity"];
  const half = (to: string, from: string, rotation: number) =>
    `${to} = ${to} + ${from}; ` +
    `${from} = ((${from} << ${rotation}u) | (${from} >> ${32 - rotation}u)) ^ ${to};\n`;
  let rounds = "";
  for (let round = 0; round < 5; round++) {
    const r = ROTATIONS[round & 1]!;
    rounds += half("a", "b", r[0]) + half("c", "d", r[1]) + half("a", "d", r[2]) +
      half("c", "b", r[3]) + half("a", "b", r[4]) + half("c", "d", r[5]) + half("a", "d", r[6]) +
      half("c", "b", r[7]);
    const [k0, k1, k2, k3] = [1, 2, 3, 4].map((i) => keys[(round + i) % 5]!);
    rounds += `a = a + ${k0}; b = b + ${k1}; c = c + ${k2}; d = d + ${k3} + ${round + 1}u;\n`;
  }
  return `
    fn threefry(key : vec4<u32>, counter : u32) -> vec4<u32> {
      let parity = 0x1bd11bdau ^ key.x ^ key.y ^ key.z ^ key.w;
      var a = key.x + counter;
      var b = key.y; var c = key.z; var d = key.w;
      ${rounds}
      return vec4<u32>(a, b, c, d);
    }`;
}

/** Dropout's choice for one element, in WGSL. */
function keptCode(): string {
  return `${threefryCode()}
    fn kept(key : vec4<u32>, element : u32, limit : u32, factor : f32) -> f32 {
      let words = threefry(key, 4u * (element / 32u) + (element & 3u));
      let low = select(words.x, words.y, (element & 4u) != 0u);
      let high = select(words.z, words.w, (element & 4u) != 0u);
      let word = select(low, high, (element & 8u) != 0u);
      let bits = select(word >> 16u, word & 0xffffu, (element & 16u) == 0u);
      return select(factor, 0.0, bits < limit);
    }`;
}

const KEY = `let key = vec4<u32>(bitcast<u32>(uniforms.k0), bitcast<u32>(uniforms.k1),
  bitcast<u32>(uniforms.k2), bitcast<u32>(uniforms.k3));`;

function keepUniforms([k0, k1, k2, k3]: StreamKey, rate: number) {
  return {
    integers: { k0, k1, k2, k3, limit: Math.round(rate * 65536) },
    floats: { kept_factor: 1 / (1 - rate) },
  };
}

/** Dropout's factors for a tensor of `shape`: those of `keepFactors`. */
export function deviceKeep(key: StreamKey, rate: number, shape: readonly number[]): tf.Tensor {
  return runDevice("keep", {
    inputs: {},
    output: shape,
    ...keepUniforms(key, rate),
    functions: keptCode(),
    element: `${KEY}
      setOutputAtIndex(index, kept(key, u32(index), u32(uniforms.limit), uniforms.kept_factor));`,
  });
}

/**
 * Dropout's factors for attention weights padded to [B × heads, T, T]: head h of document b draws
 * from the stream with `b heads + h` in its key, rows `ceil4(length of b)` apart.
 */
export function deviceKeepHeads(
  key: StreamKey,
  rate: number,
  shape: { lengths: Int32Array; heads: number; t: number },
): tf.Tensor {
  const { lengths, heads, t } = shape;
  const { integers, floats } = keepUniforms(key, rate);
  return tf.tidy(() =>
    runDevice("keepHeads", {
      inputs: { lengths: tf.tensor1d(lengths, "int32") },
      output: [lengths.length * heads, t, t],
      integers: { ...integers, heads, t },
      floats,
      functions: keptCode(),
      element: `${KEY}
        let pair = index / (uniforms.t * uniforms.t);
        let stride = (lengths[pair / uniforms.heads] + 3) & -4;
        let row = (index / uniforms.t) % uniforms.t;
        let element = u32(row * stride + index % uniforms.t);
        let own = vec4<u32>(key.xyz, key.w ^ u32(pair));
        setOutputAtIndex(index,
          kept(own, element, u32(uniforms.limit), uniforms.kept_factor));`,
    })
  );
}

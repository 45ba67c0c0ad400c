/**
 * Matrix products on a device. All invocations of a workgroup share their rows and own four columns
 * each, so that what they read of the left factor is the same for all and of the right factor lies
 * side by side; each element is summed in the order of k.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { runShader } from "./device.ts";
import { columnSums } from "./device_training.ts";
import { differentiable } from "./host.ts";

/** Rows, and columns in fours, of a workgroup. */
const ROWS = 8, COLUMNS = 32;

/** Whether {@linkcode deviceLinear} computes products with a weight of this shape. */
export function fitsDeviceLinear([i, o]: readonly number[]): boolean {
  return i! % 4 === 0 && o! % 4 === 0;
}

/** `linear` of the operations, with its gradient; both widths must be multiples of 4. */
export function deviceLinear(x: tf.Tensor, w: tf.Tensor, b?: tf.Tensor): tf.Tensor2D {
  const inputs = b === undefined ? [x, w] : [x, w, b];
  return differentiable<tf.Tensor2D>(
    inputs,
    () => ({ value: deviceProduct(x, w, { bias: b }), keep: [x, w] }),
    (dy, [x, w]) => {
      const dx = tf.tidy(() => deviceProduct(dy, tf.transpose(w!)));
      const dw = deviceProduct(x!, dy, { transposed: true });
      return b === undefined ? [dx, dw] : [dx, dw, columnSums(dy)];
    },
  );
}

/**
 * A B + bias, or Aᵀ B; M (if transposed) or K (if not) and N must be multiples of 4.
 *
 * @param a float32 [M, K], or [K, M] with `transposed`.
 * @param b float32 [K, N].
 * @param options.bias float32 [N].
 * @returns float32 [M, N]; without a gradient.
 */
export function deviceProduct(
  a: tf.Tensor,
  b: tf.Tensor,
  options: { transposed?: boolean; bias?: tf.Tensor | undefined } = {},
): tf.Tensor2D {
  const { transposed = false, bias } = options;
  const [m, k] = (transposed ? [a.shape[1], a.shape[0]] : a.shape) as [number, number];
  const n = b.shape[1]!;
  const word = (value: number) => ({ type: "uint32", data: [value] });
  const name = ["product", ...transposed ? ["transposed"] : [], ...bias ? ["bias"] : []];
  const [product] = runShader({
    name: name.join("."),
    code: () => code({ transposed, bias: bias !== undefined }),
    reads: bias === undefined ? [a, b] : [a, b, bias],
    outputs: [[m, n]],
    uniforms: [word(m), word(n), word(k)],
    workgroups: [Math.ceil(n / 4 / COLUMNS), Math.ceil(m / ROWS), 1],
  });
  return product as tf.Tensor2D;
}

function code({ transposed, bias }: { transposed: boolean; bias: boolean }): string {
  const each = (code: (row: number) => string) =>
    Array.from({ length: ROWS }, (_, row) => code(row)).join("\n");
  const lanes = ["x", "y", "z", "w"];
  // Four k at a time: four vec4 of b, and of each row one vec4 of a, or of each k ROWS / 4.
  const straight = `
    for (var k = 0u; k < uniforms.k; k = k + 4u) {
      ${lanes.map((lane, i) => `let b${lane} = b[(k + ${i}u) * width + from_column];`).join("\n")}
      ${each((i) => `let a${i} = a[r${i} + k / 4u];`)}
      ${lanes.map((lane) => each((i) => `s${i} = s${i} + a${i}.${lane} * b${lane};`)).join("\n")}
    }`;
  const across = `
    for (var k = 0u; k < uniforms.k; k = k + 1u) {
      let right = b[k * width + from_column];
      ${
    Array.from({ length: ROWS / 4 }, (_, i) =>
      `let a${i} = a[k * (uniforms.m / 4u) + min(row / 4u + ${i}u, uniforms.m / 4u - 1u)];`).join(
        "\n",
      )
  }
      ${each((i) => `s${i} = s${i} + a${i >> 2}.${lanes[i & 3]} * right;`)}
    }`;
  return `
    struct Uniforms { m : u32, n : u32, k : u32 };
    @group(0) @binding(0) var<storage, read_write> c : array<vec4<f32>>;
    @group(0) @binding(1) var<storage, read> a : array<vec4<f32>>;
    @group(0) @binding(2) var<storage, read> b : array<vec4<f32>>;
    ${bias ? "@group(0) @binding(3) var<storage, read> bias : array<vec4<f32>>;" : ""}
    @group(0) @binding(${bias ? 4 : 3}) var<uniform> uniforms : Uniforms;
    @compute @workgroup_size(${COLUMNS})
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let width = uniforms.n / 4u;
      let row = group.y * ${ROWS}u;
      let column = group.x * ${COLUMNS}u + lane;
      let from_column = min(column, width - 1u);
      ${
    transposed
      ? ""
      : each((i) => `let r${i} = min(row + ${i}u, uniforms.m - 1u) * (uniforms.k / 4u);`)
  }
      let start = ${bias ? "bias[from_column]" : "vec4<f32>(0.0)"};
      ${each((i) => `var s${i} = start;`)}
      ${transposed ? across : straight}
      if (column < width) {
        ${
    each((i) =>
      `if (row + ${i}u < uniforms.m) {
          c[(row + ${i}u) * width + column] = s${i};
        }`
    )
  }
      }
    }`;
}

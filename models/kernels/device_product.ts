/**
 * Matrix products on a device, of any shape. An invocation owns eight rows of four columns each;
 * where a workgroup's invocations share their rows, what they read of the left factor is the same
 * for all and of the right factor lies side by side. Each element is summed in the order of k.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { columnSums, runShader } from "./device.ts";
import { differentiable } from "./host.ts";

/** Rows of an invocation, and invocations of a workgroup. */
const ROWS = 8, LANES = 32;

/** `linear` of the operations, with its gradient. */
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

/** `unembed` of the operations, with its gradient. */
export function deviceUnembed(x: tf.Tensor, table: tf.Tensor): tf.Tensor2D {
  return differentiable<tf.Tensor2D>(
    [x, table],
    () => ({ value: tf.tidy(() => deviceProduct(x, tf.transpose(table))), keep: [x, table] }),
    (dy, [x, table]) => [deviceProduct(dy, table!), deviceProduct(dy, x!, { transposed: true })],
  );
}

/**
 * A B + bias, or Aᵀ B.
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
  const layout: Layout = {
    transposed,
    bias: bias !== undefined,
    left: a.shape[1]! % 4 === 0,
    right: n % 4 === 0,
    across: lanesAcross(n),
  };
  const [product] = runShader({
    name: `product.${Object.values(layout).map(Number).join(".")}`,
    code: () => productCode(layout),
    reads: bias === undefined ? [a, b] : [a, b, bias],
    outputs: [[m, n]],
    uniforms: [word(m), word(n), word(k)],
    workgroups: [
      Math.ceil(n / 4 / layout.across),
      Math.ceil(m / (ROWS * LANES / layout.across)),
      1,
    ],
  });
  return product as tf.Tensor2D;
}

/** The least power of 2 whose columns, four each, are all of them; at most all lanes. */
function lanesAcross(columns: number): number {
  let across = 1;
  while (across < LANES && 4 * across < columns) across *= 2;
  return across;
}

/** What the code is written for. */
interface Layout {
  readonly transposed: boolean;
  readonly bias: boolean;
  /** Whether rows of the left, and of the right factor, are whole vec4s. */
  readonly left: boolean;
  readonly right: boolean;
  /** Invocations side by side, a power of 2; the others of a workgroup have rows below. */
  readonly across: number;
}

function productCode({ transposed, bias, left, right, across }: Layout): string {
  const rows = Array.from({ length: ROWS }, (_, i) => i);
  const each = (code: (row: number) => string) => rows.map(code).join("\n");
  const lanes = ["x", "y", "z", "w"];
  const element = (whole: boolean) => whole ? "vec4<f32>" : "f32";
  // A row of vec4s, or of scalars with zeros past its end; `width` is counted likewise.
  const load = (tensor: string, whole: boolean, o: { row: string; place: string; size: string }) =>
    whole
      ? `${tensor}[(${o.row}) * (${o.size} / 4u) + ${o.place}]`
      : `vec4<f32>(${
        lanes.map((_, i) =>
          `select(0.0, ${tensor}[(${o.row}) * ${o.size} + min(4u * (${o.place}) + ${i}u, ` +
          `${o.size} - 1u)], 4u * (${o.place}) + ${i}u < ${o.size})`
        ).join(", ")
      })`;
  const b = (row: string) => load("b", right, { row, place: "from_column", size: "uniforms.n" });
  // Four k at a time: four vec4 of b, and of each row one vec4 of a, or of each k ROWS / 4.
  const straight = `
    for (var k = 0u; k < uniforms.k; k = k + 4u) {
      ${
    lanes.map((lane, i) =>
      `let b${lane} = ${b(left ? `k + ${i}u` : `min(k + ${i}u, uniforms.k - 1u)`)};`
    ).join("\n")
  }
      ${
    each((i) =>
      `let a${i} = ${load("a", left, { row: `r${i}`, place: "k / 4u", size: "uniforms.k" })};`
    )
  }
      ${lanes.map((lane) => each((i) => `s${i} = s${i} + a${i}.${lane} * b${lane};`)).join("\n")}
    }`;
  const place = (i: number) => `min(row / 4u + ${i}u, (uniforms.m + 3u) / 4u - 1u)`;
  const acrossRows = `
    for (var k = 0u; k < uniforms.k; k = k + 1u) {
      let right = ${b("k")};
      ${
    rows.slice(0, ROWS / 4).map((i) =>
      `let a${i} = ${load("a", left, { row: "k", place: place(i), size: "uniforms.m" })};`
    ).join("\n")
  }
      ${each((i) => `s${i} = s${i} + a${i >> 2}.${lanes[i & 3]} * right;`)}
    }`;
  const put = (i: number) =>
    right
      ? `c[(row + ${i}u) * (uniforms.n / 4u) + column] = s${i};`
      : lanes.map((lane, k) =>
        `if (4u * column + ${k}u < uniforms.n) {
           c[(row + ${i}u) * uniforms.n + 4u * column + ${k}u] = s${i}.${lane};
         }`
      ).join("\n");
  return `
    struct Uniforms { m : u32, n : u32, k : u32 };
    @group(0) @binding(0) var<storage, read_write> c : array<${element(right)}>;
    @group(0) @binding(1) var<storage, read> a : array<${element(left)}>;
    @group(0) @binding(2) var<storage, read> b : array<${element(right)}>;
    ${bias ? `@group(0) @binding(3) var<storage, read> bias : array<${element(right)}>;` : ""}
    @group(0) @binding(${bias ? 4 : 3}) var<uniform> uniforms : Uniforms;
    @compute @workgroup_size(${LANES})
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let width = (uniforms.n + 3u) / 4u;
      ${
    across === LANES
      ? `let row = group.y * ${ROWS}u;
         let column = group.x * ${LANES}u + lane;`
      : `let row = (group.y * ${LANES / across}u + lane / ${across}u) * ${ROWS}u;
         let column = group.x * ${across}u + lane % ${across}u;`
  }
      let from_column = min(column, width - 1u);
      ${transposed ? "" : each((i) => `let r${i} = min(row + ${i}u, uniforms.m - 1u);`)}
      let start = ${
    bias
      ? load("bias", right, { row: "0u", place: "from_column", size: "uniforms.n" })
      : "vec4<f32>(0.0)"
  };
      ${each((i) => `var s${i} = start;`)}
      ${transposed ? acrossRows : straight}
      if (column < width) {
        ${each((i) => `if (row + ${i}u < uniforms.m) { ${put(i)} }`)}
      }
    }`;
}

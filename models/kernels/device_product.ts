/**
 * Matrix products on a device, of any shape. An invocation owns eight rows of eight columns, two
 * vec4s: what it reads is used eight times. Neighbours' columns lie side by side, and where they
 * share their rows, what they read of the left factor is the same for all.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { columnSums, runShader } from "./device.ts";
import { differentiable } from "./host.ts";

/** Rows and vec4s of columns of an invocation, and invocations of a workgroup. */
const ROWS = 8, WIDE = 2, LANES = 32;

/** Rows of both factors that one invocation multiplies where they are summed over. */
const PART = 256;

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
 * A B + bias, or Aᵀ B. Each element is summed in the order of k; of Aᵀ B in parts of
 * {@linkcode PART} rows, which run side by side and are then added in order.
 *
 * @param a float32 [M, K], or [K, M] with `transposed`.
 * @param b float32 [K, N].
 * @param options.bias float32 [N]; not with `transposed`.
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
  const parts = transposed ? Math.ceil(k / PART) : 1;
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
    outputs: [[parts * m, n]],
    uniforms: [word(m), word(n), word(k)],
    workgroups: [
      Math.ceil(n / (4 * WIDE) / layout.across),
      Math.ceil(m / (ROWS * LANES / layout.across)),
      parts,
    ],
  });
  if (parts === 1) return product as tf.Tensor2D;
  const sum = tf.tidy(() => tf.reshape(columnSums(tf.reshape(product!, [parts, m * n])), [m, n]));
  product!.dispose();
  return sum as tf.Tensor2D;
}

/** The least power of 2 whose columns are all of them; at most all lanes. */
function lanesAcross(columns: number): number {
  let across = 1;
  while (across < LANES && 4 * WIDE * across < columns) across *= 2;
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
  const rows = [...Array(ROWS).keys()], columns = [...Array(WIDE).keys()];
  const each = (code: (row: number) => string) => rows.map(code).join("\n");
  const cells = (code: (row: number, column: number) => string) =>
    rows.flatMap((i) => columns.map((j) => code(i, j))).join("\n");
  const lanes = ["x", "y", "z", "w"];
  const element = (whole: boolean) => whole ? "vec4<f32>" : "f32";
  // A row of vec4s, or of scalars with zeros past its end; `place` counts vec4s.
  const load = (tensor: string, whole: boolean, o: { row: string; place: string; size: string }) =>
    whole
      ? `${tensor}[(${o.row}) * (${o.size} / 4u) + ${o.place}]`
      : `vec4<f32>(${
        lanes.map((_, i) =>
          `select(0.0, ${tensor}[(${o.row}) * ${o.size} + min(4u * (${o.place}) + ${i}u, ` +
          `${o.size} - 1u)], 4u * (${o.place}) + ${i}u < ${o.size})`
        ).join(", ")
      })`;
  const rightRow = (row: string) =>
    columns.map((j) =>
      `let b${j} = ${load("b", right, { row, place: `from${j}`, size: "uniforms.n" })};`
    ).join("\n");
  // Four k at a time: one vec4 of each row of a.
  const straight = `
    for (var k = 0u; k < uniforms.k; k = k + 4u) {
      ${
    each((i) =>
      `let a${i} = ${load("a", left, { row: `r${i}`, place: "k / 4u", size: "uniforms.k" })};`
    )
  }
      ${
    lanes.map((lane, q) =>
      `{
        ${rightRow(left ? `k + ${q}u` : `min(k + ${q}u, uniforms.k - 1u)`)}
        ${cells((i, j) => `s${i}${j} = s${i}${j} + a${i}.${lane} * b${j};`)}
      }`
    ).join("\n")
  }
    }`;
  const place = (i: number) => `min(row / 4u + ${i}u, (uniforms.m + 3u) / 4u - 1u)`;
  const acrossRows = `
    for (var k = group.z * ${PART}u; k < min((group.z + 1u) * ${PART}u, uniforms.k); k = k + 1u) {
      ${rightRow("k")}
      ${
    rows.slice(0, ROWS / 4).map((i) =>
      `let a${i} = ${load("a", left, { row: "k", place: place(i), size: "uniforms.m" })};`
    ).join("\n")
  }
      ${cells((i, j) => `s${i}${j} = s${i}${j} + a${i >> 2}.${lanes[i & 3]} * b${j};`)}
    }`;
  const put = (i: number, j: number) => {
    const to = `group.z * uniforms.m + row + ${i}u`;
    return right
      ? `c[(${to}) * (uniforms.n / 4u) + column${j}] = s${i}${j};`
      : lanes.map((lane, k) =>
        `if (4u * column${j} + ${k}u < uniforms.n) {
           c[(${to}) * uniforms.n + 4u * column${j} + ${k}u] = s${i}${j}.${lane};
         }`
      ).join("\n");
  };
  const start = (j: number) =>
    bias
      ? load("bias", right, { row: "0u", place: `from${j}`, size: "uniforms.n" })
      : "vec4<f32>(0.0)";
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
      let row = (group.y * ${LANES / across}u + lane / ${across}u) * ${ROWS}u;
      ${
    columns.map((j) =>
      `let column${j} = group.x * ${WIDE * across}u + ${j * across}u + lane % ${across}u;
       let from${j} = min(column${j}, width - 1u);`
    ).join("\n")
  }
      ${transposed ? "" : each((i) => `let r${i} = min(row + ${i}u, uniforms.m - 1u);`)}
      ${columns.map((j) => `let start${j} = ${start(j)};`).join("\n")}
      ${cells((i, j) => `var s${i}${j} = start${j};`)}
      ${transposed ? acrossRows : straight}
      ${
    columns.map((j) =>
      `if (column${j} < width) {
         ${each((i) => `if (row + ${i}u < uniforms.m) { ${put(i, j)} }`)}
       }`
    ).join("\n")
  }
    }`;
}

/**
 * Layer normalisation on a device: a workgroup has a row, forward and for the input's gradient.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { columnSums, runDevice, runShader, spread } from "./device.ts";
import { differentiable } from "./host.ts";

/** Invocations of a row; a sum over it goes over them as a tree. */
const LANES = 32;

/** Rows that one invocation adds of a gain's or a bias's gradient. */
const BLOCK = 64;

/** `layerNorm` of the operations, with its gradient. */
export function deviceLayerNorm(
  x: tf.Tensor,
  scales: { gain: tf.Tensor; bias?: tf.Tensor | undefined; epsilon: number },
): tf.Tensor2D {
  const { gain, bias, epsilon } = scales;
  const [n, c] = x.shape as [number, number];
  const inputs = bias === undefined ? [x, gain] : [x, gain, bias];
  const sizes = [n, c].map((size) => ({ type: "uint32", data: [size] }));
  return differentiable<tf.Tensor2D>(
    inputs,
    () => {
      const [y, moments] = runShader({
        name: bias === undefined ? "layerNorm" : "layerNormBiased",
        code: () => forwardCode(bias !== undefined),
        reads: inputs,
        outputs: [[n, c], [n, 2]],
        uniforms: [...sizes, { type: "float32", data: [epsilon] }],
        workgroups: spread(n),
      });
      return { value: y!, keep: [x, gain, moments!] };
    },
    (dy, kept) => {
      const [dx] = runShader({
        name: "layerNormGradient",
        code: gradientCode,
        reads: [...kept, dy],
        outputs: [[n, c]],
        uniforms: sizes,
        workgroups: spread(n),
      });
      const [x, , moments] = kept as [tf.Tensor, tf.Tensor, tf.Tensor];
      const dGain = tf.tidy(() => columnSums(gainBlocks(x, moments, dy)));
      return bias === undefined ? [dx!, dGain] : [dx!, dGain, columnSums(dy)];
    },
  );
}

/** Sums of dy ⊙ (x − mean) / deviation over each block of rows. */
function gainBlocks(x: tf.Tensor, moments: tf.Tensor, dy: tf.Tensor): tf.Tensor {
  const [n, c] = x.shape as [number, number];
  return runDevice("layerNormGain", {
    inputs: { x, moments, dy },
    output: [Math.ceil(n / BLOCK), c],
    integers: { width: c, rows: n },
    element: `
      let first = index / uniforms.width * ${BLOCK};
      let end = min(first + ${BLOCK}, uniforms.rows);
      var sum = 0.0;
      for (var row = first; row < end; row = row + 1) {
        let at = row * uniforms.width + index % uniforms.width;
        sum = sum + dy[at] * (x[at] - moments[2 * row]) * moments[2 * row + 1];
      }
      setOutputAtIndex(index, sum);`,
  });
}

/** Declares tensors and what a workgroup does with its row; `sumOf(part)` is for all lanes. */
function rowCode(
  o: { written: string[]; read: string[]; fields: string; body: string },
): string {
  const tensors = [...o.written, ...o.read].map((name, i) =>
    `@group(0) @binding(${i}) var<storage, ${i < o.written.length ? "read_write" : "read"}> ` +
    `${name} : array<f32>;`
  );
  return `
    struct Uniforms { n : u32, c : u32, ${o.fields} };
    ${tensors.join("\n")}
    @group(0) @binding(${tensors.length}) var<uniform> uniforms : Uniforms;
    var<workgroup> parts : array<vec2<f32>, ${LANES}>;
    fn sumOf(lane : u32, part : vec2<f32>) -> vec2<f32> {
      workgroupBarrier();
      parts[lane] = part;
      for (var half = ${LANES / 2}u; half > 0u; half = half / 2u) {
        workgroupBarrier();
        if (lane < half) { parts[lane] = parts[lane] + parts[lane + half]; }
      }
      workgroupBarrier();
      return parts[0];
    }
    @compute @workgroup_size(${LANES})
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(num_workgroups) groups : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let row = group.y * groups.x + group.x;
      if (row >= uniforms.n) { return; }
      let start = row * uniforms.c;
      let end = start + uniforms.c;
      let width = f32(uniforms.c);
      ${o.body}
    }`;
}

/** Runs `code` for the lane's share of the row's elements `i`. */
function each(code: string): string {
  return `for (var i = start + lane; i < end; i = i + ${LANES}u) { ${code} }`;
}

function forwardCode(biased: boolean): string {
  return rowCode({
    written: ["y", "moments"],
    read: ["x", "gain", ...biased ? ["bias"] : []],
    fields: "epsilon : f32",
    body: `
      var part = 0.0;
      ${each("part = part + x[i];")}
      let mean = sumOf(lane, vec2<f32>(part, 0.0)).x / width;
      part = 0.0;
      ${each("part = part + (x[i] - mean) * (x[i] - mean);")}
      let variance = sumOf(lane, vec2<f32>(part, 0.0)).x / width;
      let inverse = 1.0 / sqrt(variance + uniforms.epsilon);
      ${
      each(`y[i] = (x[i] - mean) * inverse * gain[i - start]${biased ? " + bias[i - start]" : ""};`)
    }
      if (lane == 0u) {
        moments[2u * row] = mean;
        moments[2u * row + 1u] = inverse;
      }`,
  });
}

function gradientCode(): string {
  return rowCode({
    written: ["dx"],
    read: ["x", "gain", "moments", "dy"],
    fields: "",
    body: `
      let mean = moments[2u * row];
      let inverse = moments[2u * row + 1u];
      var part = vec2<f32>(0.0);
      ${
      each(`
        let own = dy[i] * gain[i - start];
        part = part + own * vec2<f32>(1.0, (x[i] - mean) * inverse);`)
    }
      let along = sumOf(lane, part) / width;
      ${
      each(`
        let normed = (x[i] - mean) * inverse;
        dx[i] = (dy[i] * gain[i - start] - along.x - normed * along.y) * inverse;`)
    }`,
  });
}

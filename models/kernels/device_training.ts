/**
 * Kernels for tfjs's `webgpu` backend that do in one or two dispatches what tfjs composes of many:
 * GELU, layer normalisation, Adam. A dispatch costs more than the arithmetic of a small model.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { runDevice, runShader, sumRows } from "./device.ts";
import { differentiable } from "./host.ts";
import { TAIL } from "./scalar.ts";

const POLYNOMIAL = TAIL.slice(1).reduce((sum, c) => `(${sum} * t + ${c})`, String(TAIL[0]));

const GELU = `
  fn gauss_of(x : f32) -> f32 { return exp(-0.5 * x * x); }
  fn tail_of(z : f32, gauss : f32) -> f32 {
    let t = 1.0 / (1.0 + 0.25 * min(z, 6.0));
    return ${POLYNOMIAL} * t * gauss;
  }`;

/** `gelu` of the operations, with its gradient. */
export function deviceGelu(x: tf.Tensor): tf.Tensor {
  return differentiable(
    [x],
    () => ({
      value: runDevice("gelu", {
        inputs: { x },
        output: x.shape,
        functions: GELU,
        element: `
          let value = x[index];
          let z = abs(value);
          setOutputAtIndex(index, max(value, 0.0) - z * tail_of(z, gauss_of(value)));`,
      }),
      keep: [x],
    }),
    (dy, [x]) => [
      runDevice("geluGradient", {
        inputs: { x: x!, dy },
        output: x!.shape,
        functions: GELU,
        element: `
          let value = x[index];
          let gauss = gauss_of(value);
          let tail = tail_of(abs(value), gauss);
          let cdf = select(tail, 1.0 - tail, value > 0.0);
          setOutputAtIndex(index, dy[index] * (cdf + value * gauss * 0.3989422804014327));`,
      }),
    ],
  );
}

/** `layerNorm` of the operations, with its gradient. */
export function deviceLayerNorm(
  x: tf.Tensor,
  scales: { gain: tf.Tensor; bias?: tf.Tensor | undefined; epsilon: number },
): tf.Tensor2D {
  const { gain, bias, epsilon } = scales;
  const [n, c] = x.shape as [number, number];
  const inputs = bias === undefined ? [x, gain] : [x, gain, bias];
  return differentiable<tf.Tensor2D>(
    inputs,
    () => {
      const moments = rowMoments(x, epsilon);
      return { value: normalised(x, moments, { gain, bias }), keep: [x, gain, moments] };
    },
    (dy, [x, gain, moments]) => {
      const along = runDevice("layerNormAlong", {
        inputs: { x: x!, moments: moments!, gain: gain!, dy },
        output: [n, 2],
        integers: { width: c },
        element: `
          let row = index / 2;
          var sum = 0.0;
          for (var j = 0; j < uniforms.width; j = j + 1) {
            let at = row * uniforms.width + j;
            let normed = (x[at] - moments[2 * row]) * moments[2 * row + 1];
            sum = sum + dy[at] * gain[j] * select(normed, 1.0, index % 2 == 0);
          }
          setOutputAtIndex(index, sum / f32(uniforms.width));`,
      });
      const dx = runDevice("layerNormGradient", {
        inputs: { x: x!, moments: moments!, gain: gain!, dy, along },
        output: [n, c],
        integers: { width: c },
        element: `
          let row = index / uniforms.width;
          let normed = (x[index] - moments[2 * row]) * moments[2 * row + 1];
          let own = dy[index] * gain[index % uniforms.width];
          setOutputAtIndex(index,
            (own - along[2 * row] - normed * along[2 * row + 1]) * moments[2 * row + 1]);`,
      });
      const products = runDevice("layerNormProducts", {
        inputs: { x: x!, moments: moments!, dy },
        output: [n, c],
        integers: { width: c },
        element: `
          let row = index / uniforms.width;
          setOutputAtIndex(index,
            dy[index] * (x[index] - moments[2 * row]) * moments[2 * row + 1]);`,
      });
      return [dx, columnSums(products), columnSums(dy)].slice(0, inputs.length);
    },
  );
}

/** Mean and 1/√(variance + ε) of each row, [N, 2]. */
function rowMoments(x: tf.Tensor, epsilon: number): tf.Tensor {
  return runDevice("rowMoments", {
    inputs: { x },
    output: [x.shape[0]!, 2],
    integers: { width: x.shape[1]! },
    floats: { epsilon },
    element: `
      let start = (index / 2) * uniforms.width;
      let end = start + uniforms.width;
      var mean = 0.0;
      for (var i = start; i < end; i = i + 1) { mean = mean + x[i]; }
      mean = mean / f32(uniforms.width);
      var variance = 0.0;
      for (var i = start; i < end; i = i + 1) {
        variance = variance + (x[i] - mean) * (x[i] - mean);
      }
      let inverse = 1.0 / sqrt(variance / f32(uniforms.width) + uniforms.epsilon);
      setOutputAtIndex(index, select(inverse, mean, index % 2 == 0));`,
  });
}

function normalised(
  x: tf.Tensor,
  moments: tf.Tensor,
  { gain, bias }: { gain: tf.Tensor; bias?: tf.Tensor | undefined },
): tf.Tensor {
  return runDevice(bias === undefined ? "layerNorm" : "layerNormBiased", {
    inputs: { x, moments, gain, ...(bias === undefined ? {} : { bias }) },
    output: x.shape,
    integers: { width: x.shape[1]! },
    element: `
      let row = index / uniforms.width;
      let feature = index % uniforms.width;
      let normed = (x[index] - moments[2 * row]) * moments[2 * row + 1];
      setOutputAtIndex(index,
        normed * gain[feature]${bias === undefined ? "" : " + bias[feature]"});`,
  });
}

/** Rows that one invocation adds before the sums are added in turn. */
const BLOCK = 64;

/** Sums over the rows, [C], in blocks of fixed size: the same bits every time. */
export function columnSums(x: tf.Tensor): tf.Tensor {
  const [n, c] = x.shape as [number, number];
  if (n <= BLOCK) return tf.reshape(sumAll(x, n, n), [c]);
  const blocks = sumAll(x, n, BLOCK);
  const count = blocks.shape[0]!;
  return tf.reshape(sumAll(blocks, count, count), [c]);
}

function sumAll(x: tf.Tensor, rows: number, block: number): tf.Tensor2D {
  const order = Int32Array.from({ length: rows }, (_, i) => i);
  const count = Math.ceil(rows / block);
  const starts = Int32Array.from({ length: count + 1 }, (_, i) => Math.min(rows, i * block));
  return sumRows(x, { order, starts });
}

/** Constants of one step of Adam; see `optimizerStep`. */
export interface AdamConstants {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** Weight decay added to the gradient, factor of the weight, step size, √(1 − β₂ᵗ). */
  readonly coupled: number;
  readonly shrink: number;
  readonly size: number;
  readonly correction: number;
}

/** One step of one parameter, changing it and its moments in place. */
export function deviceAdam(
  { p, g, m, v }: { p: tf.Tensor; g: tf.Tensor; m: tf.Tensor; v: tf.Tensor },
  o: AdamConstants,
): void {
  const constants = {
    held1: o.beta1,
    fresh1: 1 - o.beta1,
    held2: o.beta2,
    fresh2: 1 - o.beta2,
    coupled: o.coupled,
    shrink: o.shrink,
    step: o.size,
    correction: o.correction,
    epsilon: o.epsilon,
  };
  const groups = Math.ceil(p.size / 64);
  const across = Math.min(groups, 1 << 15);
  runShader({
    name: "adam",
    code: () => adamCode(Object.keys(constants)),
    changes: [p, m, v],
    reads: [g],
    outputs: [],
    uniforms: [
      { type: "uint32", data: [p.size] },
      ...Object.values(constants).map((x) => ({ type: "float32", data: [x] })),
    ],
    workgroups: [across, Math.ceil(groups / across), 1],
  });
}

function adamCode(constants: string[]): string {
  const tensors = ["p", "m", "v"].map((name, i) =>
    `@group(0) @binding(${i}) var<storage, read_write> ${name} : array<f32>;`
  );
  return `
    struct Uniforms { size : u32, ${constants.map((name) => `${name} : f32`).join(", ")} };
    ${tensors.join("\n")}
    @group(0) @binding(3) var<storage, read> g : array<f32>;
    @group(0) @binding(4) var<uniform> uniforms : Uniforms;
    @compute @workgroup_size(64)
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(num_workgroups) groups : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let i = (group.y * groups.x + group.x) * 64u + lane;
      if (i >= uniforms.size) { return; }
      let d = g[i] + uniforms.coupled * p[i];
      let first = uniforms.held1 * m[i] + uniforms.fresh1 * d;
      let second = uniforms.held2 * v[i] + uniforms.fresh2 * d * d;
      m[i] = first;
      v[i] = second;
      let root = sqrt(second) / uniforms.correction + uniforms.epsilon;
      p[i] = uniforms.shrink * p[i] - uniforms.step * first / root;
    }`;
}

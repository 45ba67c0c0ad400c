/**
 * Layer normalisation on a device: eight invocations share a row, forward and for the input's gradient.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { columnSums, runDevice, runShader } from "./device.ts";
import { differentiable } from "./host.ts";
import { eachOfRow, rowCode, rowGroups } from "./row_code.ts";

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
        workgroups: rowGroups(n),
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
        workgroups: rowGroups(n),
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

function forwardCode(biased: boolean): string {
  return rowCode({
    written: ["y", "moments"],
    read: ["x", "gain", ...biased ? ["bias"] : []],
    fields: "epsilon : f32",
    body: `
      let width = f32(uniforms.c);
      var part = 0.0;
      ${eachOfRow("part = part + x[i];")}
      let mean = sumOf(lane, vec2<f32>(part, 0.0)).x / width;
      part = 0.0;
      ${eachOfRow("part = part + (x[i] - mean) * (x[i] - mean);")}
      let variance = sumOf(lane, vec2<f32>(part, 0.0)).x / width;
      let inverse = 1.0 / sqrt(variance + uniforms.epsilon);
      ${
      eachOfRow(
        `y[i] = (x[i] - mean) * inverse * gain[i - start]${biased ? " + bias[i - start]" : ""};`,
      )
    }
      if (own == 0u && live) {
        moments[2u * row] = mean;
        moments[2u * row + 1u] = inverse;
      }`,
  });
}

function gradientCode(): string {
  return rowCode({
    written: ["dx"],
    read: ["x", "gain", "moments", "dy"],
    body: `
      let mean = moments[2u * row];
      let inverse = moments[2u * row + 1u];
      var part = vec2<f32>(0.0);
      ${
      eachOfRow(`
        let own = dy[i] * gain[i - start];
        part = part + own * vec2<f32>(1.0, (x[i] - mean) * inverse);`)
    }
      let along = sumOf(lane, part) / f32(uniforms.c);
      ${
      eachOfRow(`
        let normed = (x[i] - mean) * inverse;
        dx[i] = (dy[i] * gain[i - start] - along.x - normed * along.y) * inverse;`)
    }`,
  });
}

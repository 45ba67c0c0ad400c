/**
 * Softmax cross-entropy on a device: two dispatches forward and one for the gradient, with nothing
 * of the logits' size in memory but the gradient itself.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { runDevice, runShader, spread, totalOf } from "./device.ts";
import { differentiable } from "./host.ts";

/** Invocations of a workgroup; a sum of several terms goes over them as a tree. */
const LANES = 64;

/** `crossEntropy` of the operations, with its gradient; the labels must be classes. */
export function deviceCrossEntropy(
  logits: tf.Tensor,
  labels: Int32Array,
  divisor: number,
): tf.Scalar {
  const [n, k] = logits.shape as [number, number];
  return differentiable<tf.Scalar>(
    [logits],
    () => {
      const wanted = tf.tensor1d(labels, "int32");
      const [losses, sums] = rowLosses(logits, wanted);
      const value = tf.tidy(() => totalOf(losses!, divisor));
      losses!.dispose();
      return { value, keep: [logits, wanted, sums!] };
    },
    (dy, [logits, labels, sums]) => [
      runDevice("crossEntropyGradient", {
        inputs: { logits: logits!, labels: labels!, sums: sums!, dy },
        output: [n, k],
        integers: { width: k },
        floats: { divisor },
        element: `
          let row = index / uniforms.width;
          let below = logits[index] - sums[2 * row];
          let rest = sums[2 * row + 1];
          var slope = exp(below) / (1.0 + rest);
          if (index % uniforms.width == labels[row]) {
            // 1 − p loses its digits where p is almost 1; the largest logit's is rest / (1 + rest).
            slope = select(slope - 1.0, -rest / (1.0 + rest), below == 0.0);
          }
          setOutputAtIndex(index, slope * (dy[0] / uniforms.divisor));`,
      }),
    ],
  );
}

/**
 * Each row's loss, [N], and [N, 2]: its largest logit m, and Σ exp(z − m) over its other logits.
 * ln Σ exp z = m + ln(1 + that sum), which keeps the digits of a loss of almost 0.
 */
function rowLosses(logits: tf.Tensor, labels: tf.Tensor): tf.Tensor[] {
  const [n, k] = logits.shape as [number, number];
  return runShader({
    name: "crossEntropy",
    code: rowCode,
    reads: [logits, labels],
    outputs: [[n], [n, 2]],
    uniforms: [{ type: "uint32", data: [n] }, { type: "uint32", data: [k] }],
    workgroups: spread(n),
  });
}

function rowCode(): string {
  return `
    struct Uniforms { n : u32, k : u32 };
    @group(0) @binding(0) var<storage, read_write> losses : array<f32>;
    @group(0) @binding(1) var<storage, read_write> sums : array<f32>;
    @group(0) @binding(2) var<storage, read> logits : array<f32>;
    @group(0) @binding(3) var<storage, read> labels : array<i32>;
    @group(0) @binding(4) var<uniform> uniforms : Uniforms;
    var<workgroup> tops : array<f32, ${LANES}>;
    var<workgroup> places : array<u32, ${LANES}>;
    var<workgroup> parts : array<f32, ${LANES}>;
    fn log1p(x : f32) -> f32 {
      if (x >= 1.0) { return log(1.0 + x); }
      let s = x / (2.0 + x);
      let t = s * s;
      return 2.0 * s * (1.0 + t * (1.0 / 3.0 + t * (1.0 / 5.0 + t * (1.0 / 7.0 + t * (1.0 / 9.0 +
        t * (1.0 / 11.0 + t / 13.0))))));
    }
    @compute @workgroup_size(${LANES})
    fn main(
      @builtin(workgroup_id) group : vec3<u32>,
      @builtin(num_workgroups) groups : vec3<u32>,
      @builtin(local_invocation_index) lane : u32,
    ) {
      let row = group.y * groups.x + group.x;
      if (row >= uniforms.n) { return; }
      let start = row * uniforms.k;
      var place = min(lane, uniforms.k - 1u);
      var top = logits[start + place];
      for (var j = lane + ${LANES}u; j < uniforms.k; j = j + ${LANES}u) {
        let z = logits[start + j];
        if (z > top) { top = z; place = j; }
      }
      tops[lane] = top;
      places[lane] = place;
      for (var half = ${LANES / 2}u; half > 0u; half = half / 2u) {
        workgroupBarrier();
        if (lane < half && tops[lane + half] > tops[lane]) {
          tops[lane] = tops[lane + half];
          places[lane] = places[lane + half];
        }
      }
      workgroupBarrier();
      top = tops[0];
      place = places[0];
      var part = 0.0;
      for (var j = lane; j < uniforms.k; j = j + ${LANES}u) {
        if (j != place) { part = part + exp(logits[start + j] - top); }
      }
      parts[lane] = part;
      for (var half = ${LANES / 2}u; half > 0u; half = half / 2u) {
        workgroupBarrier();
        if (lane < half) { parts[lane] = parts[lane] + parts[lane + half]; }
      }
      if (lane == 0u) {
        let label = u32(labels[row]);
        losses[row] = log1p(parts[0]) + (top - logits[start + label]);
        sums[2u * row] = top;
        sums[2u * row + 1u] = parts[0];
      }
    }`;
}

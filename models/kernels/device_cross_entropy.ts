/**
 * Softmax cross-entropy on a device: two dispatches forward and one for the gradient, with nothing
 * of the logits' size in memory but the gradient itself.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { runDevice, runShader, totalOf } from "./device.ts";
import { differentiable } from "./host.ts";
import { eachOfRow, reduction, rowCode, rowGroups, SHARING } from "./row_code.ts";

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
    code: rowLossCode,
    reads: [logits, labels],
    outputs: [[n], [n, 2]],
    uniforms: [{ type: "uint32", data: [n] }, { type: "uint32", data: [k] }],
    workgroups: rowGroups(n),
  });
}

function rowLossCode(): string {
  return rowCode({
    written: ["losses", "sums"],
    read: ["logits", "labels"],
    integers: ["labels"],
    functions: `
    struct Logit { value : f32, place : u32 };
    fn larger(a : Logit, b : Logit) -> Logit {
      if (b.value > a.value) { return b; }
      return a;
    }
    ${reduction({ name: "largestOf", type: "Logit", combine: (a, b) => `larger(${a}, ${b})` })}
    fn log1p(x : f32) -> f32 {
      if (x >= 1.0) { return log(1.0 + x); }
      let s = x / (2.0 + x);
      let t = s * s;
      return 2.0 * s * (1.0 + t * (1.0 / 3.0 + t * (1.0 / 5.0 + t * (1.0 / 7.0 + t * (1.0 / 9.0 +
        t * (1.0 / 11.0 + t / 13.0))))));
    }`,
    // Past the end of a short row an invocation starts with the last logit, which is another's.
    body: `
      let first = min(start + own, start + uniforms.c - 1u);
      var mine = Logit(logits[first], first);
      for (var i = start + own + ${SHARING}u; i < end; i = i + ${SHARING}u) {
        mine = larger(mine, Logit(logits[i], i));
      }
      let top = largestOf(lane, mine);
      var part = 0.0;
      ${eachOfRow("if (i != top.place) { part = part + exp(logits[i] - top.value); }")}
      let rest = sumOf(lane, vec2<f32>(part, 0.0)).x;
      if (own == 0u && live) {
        losses[row] = log1p(rest) + (top.value - logits[start + u32(labels[row])]);
        sums[2u * row] = top.value;
        sums[2u * row + 1u] = rest;
      }`,
  });
}

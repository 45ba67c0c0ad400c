/**
 * Fusion operators: how token embeddings E and positional encodings P, both [N, d], become the
 * encoder's input H.
 *
 * Hallam & Tseng 2026, section 3; equation numbers are theirs. Operators not in the paper are in
 * the authors' notebooks.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { relu } from "./operations/activation.ts";
import { depthwise } from "./operations/depthwise.ts";
import { join } from "./operations/join.ts";
import { linear } from "./operations/linear.ts";
import { mix } from "./operations/mix.ts";
import type { Fusion, GateReduce } from "./names.ts";
import { linearSpecs, parameter, type Parameters, type ParameterSpec } from "./parameters.ts";

/** What fixes an operator. */
export interface FusionConfig {
  readonly fusion: Fusion;
  readonly d: number;
  /** Taps 2K + 1 of `gate_cnn`. */
  readonly gateTaps: number;
  /** Whether `gate_cnn` has a gate for each feature (eq. 5) or, as the text says, one for all. */
  readonly gateReduce: GateReduce;
  /** Whether `concat` has a bias, as in the notebooks; eq. 2 has none. True if left out. */
  readonly concatBias?: boolean;
}

/** The parameters an operator adds to the model. */
export function fusionSpecs(
  { fusion, d, gateTaps, concatBias = true }: FusionConfig,
): ParameterSpec[] {
  switch (fusion) {
    case "add":
    case "mul":
      return [];
    case "concat":
      return linearSpecs("fusion", 2 * d, d).slice(0, concatBias ? 2 : 1);
    case "gate_vector":
      return linearSpecs("fusion", 2 * d, d);
    case "gate_scalar":
      return linearSpecs("fusion", 2 * d, 1);
    case "gate_mlp":
    case "mlp":
      return [...linearSpecs("fusion.hidden", 2 * d, d), ...linearSpecs("fusion", d, d)];
    case "gate_cnn":
      // The bound of PyTorch's depth-wise Conv1d.
      return [{
        name: "fusion.weight",
        shape: [gateTaps, d],
        initial: { kind: "uniform", bound: 1 / Math.sqrt(gateTaps) },
      }];
  }
}

/** What an operator gives: H, and for gates their values before the sigmoid, [N, 1] or [N, d]. */
export interface Fused {
  readonly h: tf.Tensor;
  readonly gate?: tf.Tensor;
}

/**
 * Fuses E and P.
 *
 * - `add`, eq. 1: H = E + P
 * - `mul`, notebooks: H = E ⊙ P
 * - `concat`, eq. 2: H = [E; P] W, and in the notebooks + b
 * - `mlp`, notebooks: H = W₂ relu(W₁ [E; P])
 *
 * and gates, H = g ⊙ E + (1 − g) ⊙ P, with
 *
 * - `gate_scalar`, eqs. 3–4: g = σ([E; P] w + b), one per position
 * - `gate_vector`, notebooks: g = σ([E; P] W + b)
 * - `gate_mlp`, supplement 11: g = σ(W₂ relu(W₁ [E; P]))
 * - `gate_cnn`, eqs. 5–6: g_i = σ(Σ_k w_k ⊙ P_{i+k}); for one gate per position, the mean of the
 *   sum over the features. P is 0 outside the document, which the paper leaves open.
 */
export function fuse(
  config: FusionConfig,
  inputs: { e: tf.Tensor; p: tf.Tensor; offsets: Int32Array },
  parameters: Parameters,
): Fused {
  const { e, p, offsets } = inputs;
  const w = (name: string) => parameter(parameters, `fusion.${name}`);
  const both = () => join(e, p); // [N, 2d]
  const projected = (x: tf.Tensor) => linear(x, w("weight"), w("bias"));
  const throughMlp = () => projected(relu(linear(both(), w("hidden.weight"), w("hidden.bias"))));
  const gated = (gate: tf.Tensor) => ({ h: mix(gate, e, p), gate });
  switch (config.fusion) {
    case "add":
      return { h: tf.add(e, p) };
    case "mul":
      return { h: tf.mul(e, p) };
    case "concat":
      if (config.concatBias === false) return { h: linear(both(), w("weight")) };
      return { h: projected(both()) };
    case "mlp":
      return { h: throughMlp() };
    case "gate_scalar":
    case "gate_vector":
      return gated(projected(both()));
    case "gate_mlp":
      return gated(throughMlp());
    case "gate_cnn": {
      const sums = depthwise(p, w("weight"), offsets);
      return gated(config.gateReduce === "mean" ? rowMeans(sums) : sums);
    }
  }
}

/** The mean over the features, [N, 1]. */
function rowMeans(x: tf.Tensor): tf.Tensor {
  const d = x.shape[1]!;
  return linear(x, tf.fill([d, 1], 1 / d));
}

/**
 * Fusion operators: how token embeddings E and positional encodings P, both [N, d], become the
 * encoder's input H.
 *
 * Hallam & Tseng 2026, section 3; equation numbers are theirs.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { linear } from "./operations/linear.ts";
import { mix } from "./operations/mix.ts";
import { linearSpecs, parameter, type Parameters, type ParameterSpec } from "./parameters.ts";

/** The operators by name. */
export const FUSIONS = ["add", "concat", "gate_scalar"] as const;

/** A fusion operator's name. */
export type Fusion = typeof FUSIONS[number];

/** The parameters an operator adds to the model. */
export function fusionSpecs(fusion: Fusion, d: number): ParameterSpec[] {
  switch (fusion) {
    case "add":
      return [];
    case "concat":
      return linearSpecs("fusion", 2 * d, d);
    case "gate_scalar":
      return linearSpecs("fusion", 2 * d, 1);
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
 * - `concat`, eq. 2: H = [E; P] W + b
 * - `gate_scalar`, eqs. 3–4: g = σ([E; P] w + b), H = g E + (1 − g) P, one g per position
 */
export function fuse(
  fusion: Fusion,
  inputs: { e: tf.Tensor; p: tf.Tensor },
  parameters: Parameters,
): Fused {
  const { e, p } = inputs;
  const both = () => tf.concat([e, p], 1);
  const w = (name: string) => parameter(parameters, `fusion.${name}`);
  switch (fusion) {
    case "add":
      return { h: tf.add(e, p) };
    case "concat":
      return { h: linear(both(), w("weight"), w("bias")) };
    case "gate_scalar": {
      const gate = linear(both(), w("weight"), w("bias"));
      return { h: mix(gate, e, p), gate };
    }
  }
}

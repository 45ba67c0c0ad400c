/** @module */
import * as tf from "@tensorflow/tfjs";
import { deviceGelu } from "../kernels/device_gelu.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import { logistic } from "../kernels/scalar.ts";

/** The activations a feed-forward block can have. */
export type Activation = "gelu" | "relu";

/** Applies an activation by name. */
export function activate(x: tf.Tensor, activation: Activation): tf.Tensor {
  return activation === "gelu" ? gelu(x) : relu(x);
}

/**
 * x Φ(x), with the normal distribution function itself, not its tanh approximation.
 *
 * Hendrycks & Gimpel 2016, eq. 1.
 */
export function gelu(x: tf.Tensor): tf.Tensor {
  if (!onHost()) return deviceGelu(x);
  const forward = () =>
    runHost("gelu", { inputs: [x], outputs: [x.shape] }, ([x], [y], _, loops) => {
      loops.gelu(x!, y!);
    })[0]!;
  return differentiable(
    [x],
    () => ({ value: forward(), keep: [x] }),
    (dy, [x]) =>
      runHost(
        "geluGradient",
        { inputs: [x!, dy], outputs: [x!.shape] },
        ([x, dy], [dx], _, loops) => loops.geluGradient(x!, dy!, dx!),
      ),
  );
}

/** max(x, 0). */
export function relu(x: tf.Tensor): tf.Tensor {
  if (!onHost()) return tf.relu(x);
  const forward = () =>
    runHost("relu", { inputs: [x], outputs: [x.shape] }, ([x], [y]) => {
      for (let i = 0; i < x!.length; i++) y![i] = x![i]! > 0 ? x![i]! : 0;
    })[0]!;
  return differentiable(
    [x],
    () => ({ value: forward(), keep: [x] }),
    (dy, [x]) =>
      runHost("reluGradient", { inputs: [x!, dy], outputs: [x!.shape] }, ([x, dy], [dx]) => {
        for (let i = 0; i < x!.length; i++) dx![i] = x![i]! > 0 ? dy![i]! : 0;
      }),
  );
}

/** The logistic function σ(x) = 1/(1 + e^{−x}). */
export function sigmoid(x: tf.Tensor): tf.Tensor {
  if (!onHost()) return tf.sigmoid(x);
  const forward = () =>
    runHost("sigmoid", { inputs: [x], outputs: [x.shape] }, ([x], [y]) => {
      for (let i = 0; i < x!.length; i++) y![i] = logistic(x![i]!);
    })[0]!;
  return differentiable(
    [x],
    () => {
      const value = forward();
      return { value, keep: [value] };
    },
    (dy, [y]) =>
      runHost("sigmoidGradient", { inputs: [y!, dy], outputs: [y!.shape] }, ([y, dy], [dx]) => {
        for (let i = 0; i < y!.length; i++) dx![i] = y![i]! * (1 - y![i]!) * dy![i]!;
      }),
  );
}

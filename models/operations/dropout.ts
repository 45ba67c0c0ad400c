/** @module */
import type * as tf from "@tensorflow/tfjs";
import { deviceDrop } from "../kernels/device_dropout.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import { type StreamKey, streamKey } from "../random.ts";

/** Where a forward pass in training gets its dropout from; absent in evaluation. */
export interface Dropout {
  readonly rate: number;
  /** The stream for one use, `encoder.0.attention`, within this step. */
  readonly key: (use: string) => StreamKey;
}

/** Dropout at `rate` for one forward pass: streams `dropout/step.<step>/<use>` of `seed`. */
export function dropoutAt(rate: number, options: { seed: number; step: string }): Dropout {
  return { rate, key: (use) => streamKey(options.seed, `dropout/step.${options.step}/${use}`) };
}

/**
 * Zeroes each element with probability `rate` (resolution 2⁻¹⁶), scales the rest by 1/(1−rate).
 *
 * Srivastava et al. 2014, in the inverted form. The mask is a function of the key and an element's
 * index alone, and is computed again for the gradient rather than kept.
 *
 * @param dropout Without it, or at rate 0, `x` itself is returned.
 */
export function drop(x: tf.Tensor, dropout: Dropout | undefined, use: string): tf.Tensor {
  if (dropout === undefined || dropout.rate === 0) return x;
  const key = dropout.key(use);
  if (!onHost()) return deviceDrop(x, key, dropout.rate);
  const masked = (x: tf.Tensor) => {
    const call = { inputs: [x], outputs: [x.shape] };
    return runHost("dropout", call, ([x], [y], _, loops) => {
      loops.keep(key, dropout.rate, y!);
      loops.multiply(x!, y!, y!);
    });
  };
  return differentiable([x], () => ({ value: masked(x)[0]!, keep: [] }), (dy) => masked(dy));
}

/** @module */
import type * as tf from "@tensorflow/tfjs";
import type { WeightsDropout } from "../kernels/attention/frame.ts";
import { deviceDrop } from "../kernels/device_dropout.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import { type StreamKey, streamKey } from "../random.ts";

/** Where a forward pass in training gets its dropout from; absent in evaluation. */
export interface Dropout {
  readonly rate: number;
  /** The stream for one use, `encoder.0.attention`, within this step. */
  readonly key: (use: string) => StreamKey;
  /**
   * What comes before this pass in its batch, nothing unless given: a batch in pieces has the masks
   * of the whole one.
   */
  readonly before?: Before | undefined;
}

/** Tokens and documents of a batch that come before a piece of it. */
export interface Before {
  readonly tokens: number;
  readonly documents: number;
}

/** Dropout at `rate` for one forward pass: streams `dropout/step.<step>/<use>` of `seed`. */
export function dropoutAt(
  rate: number,
  options: { seed: number; step: number; before?: Before },
): Dropout {
  const { seed, step, before } = options;
  return { rate, key: (use) => streamKey(seed, `dropout/step.${step}/${use}`), before };
}

/** Dropout of attention's weights for one use. */
export function weightsDropout({ rate, key, before }: Dropout, use: string): WeightsDropout {
  return { rate, key: key(use), before: before?.documents ?? 0 };
}

/**
 * Zeroes each element with probability `rate` (resolution 2⁻¹⁶), scales the rest by 1/(1−rate).
 *
 * Srivastava et al. 2014, in the inverted form. The mask is a function of the key and an element's
 * index in the whole batch alone, and is computed again for the gradient rather than kept.
 *
 * @param x float32 [N, C], a row for each token or for each document.
 * @param dropout Without it, or at rate 0, `x` itself is returned.
 */
export function drop(
  x: tf.Tensor,
  dropout: Dropout | undefined,
  place: { use: string; rows?: "tokens" | "documents" },
): tf.Tensor {
  if (dropout === undefined || dropout.rate === 0) return x;
  const key = dropout.key(place.use);
  const width = x.size / x.shape[0]!;
  const from = width * (dropout.before?.[place.rows ?? "tokens"] ?? 0);
  if (!onHost()) return deviceDrop(x, { key, rate: dropout.rate, from });
  const masked = (x: tf.Tensor) => {
    const call = { inputs: [x], outputs: [x.shape] };
    return runHost("dropout", call, ([x], [y], _, loops) => {
      loops.keep(key, dropout.rate, y!, from);
      loops.multiply(x!, y!, y!);
    });
  };
  return differentiable([x], () => ({ value: masked(x)[0]!, keep: [] }), (dy) => masked(dy));
}

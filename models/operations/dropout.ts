/** @module */
import * as tf from "@tensorflow/tfjs";
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

/** Which elements of which use; rows are a batch's tokens unless given. */
export interface Place {
  readonly use: string;
  readonly rows?: "tokens" | "documents";
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
export function drop(x: tf.Tensor, dropout: Dropout | undefined, place: Place): tf.Tensor {
  if (dropout === undefined || dropout.rate === 0) return x;
  const mask = maskOf(x, dropout, place);
  if (!onHost()) return deviceDrop(x, mask);
  return differentiable(
    [x],
    () => ({ value: masked(x, mask), keep: [] }),
    (dy) => [masked(dy, mask)],
  );
}

/** x + drop(h): what a block adds to its input. */
export function addDropped(
  x: tf.Tensor,
  h: tf.Tensor,
  dropout: Dropout | undefined,
  place: Place,
): tf.Tensor {
  if (dropout === undefined || dropout.rate === 0) return tf.add(x, h);
  const mask = maskOf(h, dropout, place);
  if (!onHost()) return tf.add(x, deviceDrop(h, mask));
  const forward = () =>
    runHost("addDropped", { inputs: [x, h], outputs: [x.shape] }, ([x, h], [y], _, loops) => {
      loops.addDropped({ x: x!, h: h!, y: y! }, mask);
    })[0]!;
  return differentiable(
    [x, h],
    () => ({ value: forward(), keep: [] }),
    (dy) => [tf.clone(dy), masked(dy, mask)],
  );
}

interface Mask {
  readonly key: StreamKey;
  readonly rate: number;
  /** What the first element is in the whole batch. */
  readonly from: number;
}

function maskOf(x: tf.Tensor, { rate, key, before }: Dropout, { use, rows }: Place): Mask {
  const width = x.size / x.shape[0]!;
  return { key: key(use), rate, from: width * (before?.[rows ?? "tokens"] ?? 0) };
}

function masked(x: tf.Tensor, { key, rate, from }: Mask): tf.Tensor {
  return runHost("dropout", { inputs: [x], outputs: [x.shape] }, ([x], [y], _, loops) => {
    loops.keep(key, rate, y!, from);
    loops.multiply(x!, y!, y!);
  })[0]!;
}

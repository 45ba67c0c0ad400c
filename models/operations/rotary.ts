/** @module */
import * as tf from "@tensorflow/tfjs";
import { deviceRotate } from "../kernels/device.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import { cos, exp, ln, sin } from "../portable_math.ts";

/**
 * Rotary position embedding: turns features (2i, 2i+1) of every query and key of a head by the
 * angle t · 10000^{−2i/D}, t being the token's position.
 *
 * Su et al. 2021, eqs. 14–16 and 34; our D is their d.
 *
 * @param qkv float32 [N, 3C]: queries, keys and values; values stay as they are.
 * @param options.positions N positions.
 * @returns float32 [N, 3C].
 * @throws {RangeError} If a head has an odd number of features.
 */
export function rotary(
  qkv: tf.Tensor,
  options: { positions: Int32Array; heads: number },
): tf.Tensor2D {
  const { positions, heads } = options;
  const c = qkv.shape[1]! / 3, d = c / heads;
  if (d % 2 !== 0) {
    throw new RangeError(`rotary: a head must have an even number of features, got ${d}`);
  }
  const length = positions.reduce((longest, t) => Math.max(longest, t + 1), 0);
  const turned = (x: tf.Tensor, direction: 1 | -1) => {
    const table = rotations(length, d, direction);
    if (!onHost()) return deviceRotate(x, table, { positions, d });
    return runHost("rotary", { inputs: [x], outputs: [x.shape] }, ([x], [y]) => {
      rotate(x!, y!, { positions, c, d, table });
    })[0]!;
  };
  return differentiable<tf.Tensor2D>(
    [qkv],
    () => ({ value: turned(qkv, 1), keep: [] }),
    (dy) => [turned(dy, -1)],
  );
}

/** (cos, sin) of each angle, [length, d/2, 2]. */
function rotations(length: number, d: number, direction: 1 | -1): Float32Array {
  const table = new Float32Array(length * d);
  for (let i = 0; i < d; i += 2) {
    const frequency = exp(-i / d * ln(10000));
    for (let t = 0; t < length; t++) {
      table[t * d + i] = cos(t * frequency);
      table[t * d + i + 1] = direction * sin(t * frequency);
    }
  }
  return table;
}

function rotate(
  x: Float32Array,
  y: Float32Array,
  o: { positions: Int32Array; c: number; d: number; table: Float32Array },
): void {
  const { positions, c, d, table } = o;
  y.set(x);
  for (let row = 0; row < positions.length; row++) {
    const start = row * 3 * c, angles = positions[row]! * d;
    for (let j = 0; j < 2 * c; j += 2) {
      const cosine = table[angles + j % d]!, sine = table[angles + j % d + 1]!;
      const a = x[start + j]!, b = x[start + j + 1]!;
      y[start + j] = a * cosine - b * sine;
      y[start + j + 1] = a * sine + b * cosine;
    }
  }
}

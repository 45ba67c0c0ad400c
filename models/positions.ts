/**
 * Positional encodings: the table P that is fused with the token embeddings.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import type { Parameters, ParameterSpec } from "./parameters.ts";
import { cos, exp, ln, sin } from "./portable_math.ts";

/**
 * Sinusoidal encoding: PE(t, 2i) = sin(t / 10000^{2i/d}), PE(t, 2i+1) = cos(t / 10000^{2i/d}).
 *
 * Vaswani et al. 2017, section 3.5.
 *
 * @returns float32 [length, d], row by row.
 */
export function sinusoidalTable(length: number, d: number): Float32Array {
  const table = new Float32Array(length * d);
  for (let j = 0; j < d; j++) {
    const frequency = exp(-(j - j % 2) / d * ln(10000));
    const wave = j % 2 === 0 ? sin : cos;
    for (let t = 0; t < length; t++) table[t * d + j] = wave(t * frequency);
  }
  return table;
}

/** The encodings by name. */
export const ENCODINGS = ["sinusoidal"] as const;

/** An encoding's name. */
export type Encoding = typeof ENCODINGS[number];

/** The parameters an encoding adds to the model. */
export function positionSpecs(
  encoding: Encoding,
  _table: { length: number; d: number },
): ParameterSpec[] {
  switch (encoding) {
    case "sinusoidal":
      return [];
  }
}

/**
 * The encodings of a batch's tokens.
 *
 * @returns float32 [N, d].
 */
export function positionTable(
  encoding: Encoding,
  _parameters: Parameters,
  options: { positions: Int32Array; d: number },
): tf.Tensor2D {
  switch (encoding) {
    case "sinusoidal":
      return rows(sinusoidalTable, options);
  }
}

/** Rows of a constant table. */
function rows(
  table: (length: number, d: number) => Float32Array,
  { positions, d }: { positions: Int32Array; d: number },
): tf.Tensor2D {
  let length = 0;
  for (const t of positions) length = Math.max(length, t + 1);
  const values = cached(table, { length, d });
  const out = new Float32Array(positions.length * d);
  for (let i = 0; i < positions.length; i++) {
    const from = positions[i]! * d;
    out.set(values.subarray(from, from + d), i * d);
  }
  return tf.tensor2d(out, [positions.length, d]);
}

const tables = /* @__PURE__ */ new Map<unknown, { d: number; values: Float32Array }>();

/** A table's first rows; kept, as long as `d` stays. */
function cached(
  table: (length: number, d: number) => Float32Array,
  { length, d }: { length: number; d: number },
): Float32Array {
  let held = tables.get(table);
  if (held === undefined || held.d !== d || held.values.length < length * d) {
    held = { d, values: table(length, d) };
    tables.set(table, held);
  }
  return held.values;
}

/**
 * Positional encodings: the table P that is fused with the token embeddings, or positions that
 * enter the attention instead.
 *
 * `rope` and `relative` are the tables that the authors of "Fusion Matters" call so: neither is
 * rotary nor relative. `rope_attention` and `relative_attention` are what the names promise.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { embedding } from "./operations/embedding.ts";
import type { Encoding } from "./names.ts";
import { parameter, type Parameters, type ParameterSpec } from "./parameters.ts";
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

/**
 * The table that the authors of "Fusion Matters" call RoPE: sin(t f) for all d/2 frequencies
 * f_i = 10000^{−2i/d}, then cos(t f). The sinusoidal table with its columns in another order.
 *
 * @returns float32 [length, d], row by row.
 */
export function halvesTable(length: number, d: number): Float32Array {
  const table = new Float32Array(length * d);
  const half = Math.ceil(d / 2);
  for (let j = 0; j < d; j++) {
    const frequency = exp(-2 * (j % half) / d * ln(10000));
    const wave = j < half ? sin : cos;
    for (let t = 0; t < length; t++) table[t * d + j] = wave(t * frequency);
  }
  return table;
}

/**
 * The parameters an encoding adds at the model's input: for `learned` and `relative` a table
 * N(0, 1) each; the two differ in nothing but the numbers drawn.
 */
export function positionSpecs(
  encoding: Encoding,
  table: { length: number; d: number },
): ParameterSpec[] {
  if (encoding !== "learned" && encoding !== "relative") return [];
  return [{
    name: `position.${encoding}`,
    shape: [table.length, table.d],
    initial: { kind: "normal", deviation: 1 },
  }];
}

/**
 * The encodings P of a batch's tokens, float32 [N, d]; `undefined` where positions enter the
 * attention.
 */
export function positionTable(
  encoding: Encoding,
  parameters: Parameters,
  options: { positions: Int32Array; d: number },
): tf.Tensor2D | undefined {
  switch (encoding) {
    case "sinusoidal":
      return rows(sinusoidalTable, options);
    case "rope":
      return rows(halvesTable, options);
    case "learned":
    case "relative":
      return embedding(parameter(parameters, `position.${encoding}`), options.positions);
    case "rope_attention":
    case "relative_attention":
      return undefined;
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
  // Positions that follow each other, as a document's do, are copied at once.
  for (let i = 0, end = 0; i < positions.length; i = end) {
    for (end = i + 1; positions[end] === positions[end - 1]! + 1;) end++;
    out.set(values.subarray(positions[i]! * d, (positions[end - 1]! + 1) * d), i * d);
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

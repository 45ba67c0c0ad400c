/**
 * Attention and its gradient in doubles: see `formulas.ts`.
 *
 * @module
 */
import { keepFactors } from "../models/kernels/scalar.ts";
import type { AttentionOptions } from "../models/operations/attention.ts";
import type { StreamKey } from "../models/random.ts";
import { sum } from "./formulas.ts";

/** What attention is computed of. */
export interface AttentionWork extends AttentionOptions {
  readonly qkv: Float32Array;
  readonly dy: Float32Array;
  /** Relative embeddings [2K + 1, D] of keys and of values. */
  readonly keys?: Float32Array;
  readonly values?: Float32Array;
}

/** Each gradient, or inputs of the same names. */
export type AttentionArrays = { qkv: Float64Array; keys: Float64Array; values: Float64Array };

/** The inputs in doubles; tables of one row of zeros mean none. */
export function doubles(o: AttentionWork): AttentionArrays {
  const d = o.qkv.length / o.offsets.at(-1)! / 3 / o.heads;
  const [qkv, keys, values] = [
    o.qkv,
    o.keys ?? new Float32Array(d),
    o.values ?? new Float32Array(d),
  ]
    .map((x) => Float64Array.from(x)) as [Float64Array, Float64Array, Float64Array];
  return { qkv, keys, values };
}

/** Attention and its gradient in doubles, by the formulas, for one head at a time. */
export function attentionFormula(
  o: AttentionWork,
  inputs = doubles(o),
): { y: Float64Array; gradients: AttentionArrays } {
  const { qkv, keys, values } = inputs;
  const n = o.offsets.at(-1)!, c = qkv.length / n / 3, d = c / o.heads;
  const furthest = (keys.length / d - 1) / 2;
  const y = new Float64Array(n * c);
  const [dqkv, dKeys, dValues] = [qkv, keys, values].map((x) => new Float64Array(x.length)) as [
    Float64Array,
    Float64Array,
    Float64Array,
  ];
  for (let document = 0; document + 1 < o.offsets.length; document++) {
    const start = o.offsets[document]!, t = o.offsets[document + 1]! - start;
    for (let head = 0; head < o.heads; head++) {
      const x = (row: number, part: number, f: number) =>
        (start + row) * 3 * c + part * c + head * d + f;
      const out = (row: number, f: number) => (start + row) * c + head * d + f;
      const near = (i: number, j: number, f: number) =>
        (Math.max(-furthest, Math.min(furthest, j - i)) + furthest) * d + f;
      const stride = (t + 3) & ~3;
      const keep = new Float32Array(t * stride).fill(1);
      if (o.dropout !== undefined) {
        const [k0, k1, k2, k3] = o.dropout.key;
        const key: StreamKey = [k0, k1, k2, (k3 ^ (document * o.heads + head)) >>> 0];
        keepFactors(key, o.dropout.rate, keep);
      }
      for (let i = 0; i < t; i++) {
        const sees = o.causal === true ? i + 1 : t;
        const keyOf = (j: number, f: number) => qkv[x(j, 1, f)]! + keys[near(i, j, f)]!;
        const valueOf = (j: number, f: number) => qkv[x(j, 2, f)]! + values[near(i, j, f)]!;
        const scores = Array.from(
          { length: sees },
          (_, j) => sum(d, (f) => qkv[x(i, 0, f)]! * keyOf(j, f)) / Math.sqrt(d),
        );
        const top = Math.max(...scores);
        const total = sum(sees, (j) => Math.exp(scores[j]! - top));
        const p = scores.map((score) => Math.exp(score - top) / total);
        const kept = (j: number) => keep[i * stride + j]!;
        const dp = p.map((_, j) => kept(j) * sum(d, (f) => o.dy[out(i, f)]! * valueOf(j, f)));
        const inner = sum(sees, (j) => p[j]! * dp[j]!);
        for (let j = 0; j < sees; j++) {
          const ds = p[j]! * (dp[j]! - inner) / Math.sqrt(d), used = p[j]! * kept(j);
          for (let f = 0; f < d; f++) {
            y[out(i, f)]! += used * valueOf(j, f);
            dqkv[x(i, 0, f)]! += ds * keyOf(j, f);
            dqkv[x(j, 1, f)]! += ds * qkv[x(i, 0, f)]!;
            dqkv[x(j, 2, f)]! += used * o.dy[out(i, f)]!;
            dKeys[near(i, j, f)]! += ds * qkv[x(i, 0, f)]!;
            dValues[near(i, j, f)]! += used * o.dy[out(i, f)]!;
          }
        }
      }
    }
  }
  return { y, gradients: { qkv: dqkv, keys: dKeys, values: dValues } };
}

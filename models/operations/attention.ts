/** @module */
import * as tf from "@tensorflow/tfjs";
import { differentiable, onHost, runHost } from "../kernels/host.ts";
import type { Loops } from "../kernels/scalar.ts";
import type { StreamKey } from "../random.ts";
import { paddedAttention } from "./padded_attention.ts";

/** How rows are grouped into documents and features into heads. */
export interface AttentionOptions {
  /** B + 1 row numbers: document i has rows offsets_i to offsets_{i+1} − 1. */
  readonly offsets: Int32Array;
  readonly heads: number;
  /** Dropout of the attention weights; none in evaluation. */
  readonly dropout?: { readonly rate: number; readonly key: StreamKey } | undefined;
}

/**
 * Multi-head self-attention within each document: softmax(QKᵀ/√D)V for every head.
 *
 * Vaswani et al. 2017, eq. 1; our D is their d_k. Documents lie one after the other instead of
 * being padded to one length, which is what a key-padding mask computes. The weights are computed
 * again for the gradient rather than kept: memory does not grow with length squared.
 *
 * @param qkv float32 [N, 3C]: queries, keys and values, each [N, C] with C = heads × D.
 * @returns float32 [N, C].
 */
export function attention(qkv: tf.Tensor, options: AttentionOptions): tf.Tensor2D {
  const { offsets, heads } = options;
  const [n, width] = qkv.shape as [number, number];
  const c = width / 3;
  if (!Number.isInteger(c / heads)) {
    throw new RangeError(
      `attention: 3 × heads must divide the width, got width ${width} and ${heads} heads`,
    );
  }
  if (!onHost()) return paddedAttention(qkv, options);
  let longest = 0;
  for (let i = 1; i < offsets.length; i++) {
    longest = Math.max(longest, offsets[i]! - offsets[i - 1]!);
  }
  const square = longest * ceil4(longest);
  return differentiable<tf.Tensor2D>(
    [qkv],
    () => {
      const call = { inputs: [qkv], outputs: [[n, c]], scratch: [square, square] };
      const [value] = runHost("attention", call, ([x], [y], [weights, keep], loops) => {
        forEachHead(options, c, (head) => {
          const { t, start, from } = head;
          const p = attentionWeights(x!, head, { c, out: weights!, loops });
          applyKeep(head, options, { keep: keep!, to: p, loops });
          const v = x!.subarray(start * 3 * c + 2 * c + from);
          const out = y!.subarray(start * c + from);
          const a = { a: p, aRow: ceil4(t) };
          loops.product({ m: t, n: head.d, k: t, ...a, b: v, bRow: 3 * c, c: out, cRow: c });
        });
      });
      return { value: value!, keep: [qkv] };
    },
    (dy, [qkv]) => gradient(qkv!, dy, { ...options, n, c, square }),
  );
}

interface Head {
  /** Tokens, first row, first feature and number of features. */
  readonly t: number;
  readonly start: number;
  readonly from: number;
  readonly d: number;
  /** Counts (document, head) pairs; each has its own dropout stream. */
  readonly index: number;
}

function forEachHead(options: AttentionOptions, c: number, visit: (head: Head) => void): void {
  const { offsets, heads } = options;
  const d = c / heads;
  for (let document = 0, index = 0; document + 1 < offsets.length; document++) {
    const start = offsets[document]!;
    const t = offsets[document + 1]! - start;
    for (let h = 0; h < heads; h++, index++) visit({ t, start, from: h * d, d, index });
  }
}

/** The next multiple of 4: the distance between rows of weights. */
function ceil4(n: number): number {
  return (n + 3) & ~3;
}

/** softmax(QKᵀ/√D) of one head, [t, ceil4(t)]. */
function attentionWeights(
  x: Float32Array,
  { t, start, from, d }: Head,
  work: { c: number; out: Float32Array; loops: Loops },
): Float32Array {
  const { c, loops } = work;
  const stride = ceil4(t);
  const p = work.out.subarray(0, t * stride);
  const q = x.subarray(start * 3 * c + from);
  const k = x.subarray(start * 3 * c + c + from);
  const kT = { b: k, bRow: 1, bColumn: 3 * c };
  loops.product({ m: t, n: t, k: d, a: q, aRow: 3 * c, ...kT, c: p, cRow: stride });
  loops.softmax(p, { rows: t, columns: t, stride }, 1 / Math.sqrt(d));
  return p;
}

/** Multiplies `to` by one head's dropout factors, if there is dropout. */
function applyKeep(
  { t, index }: Head,
  { dropout }: AttentionOptions,
  work: { keep: Float32Array; to: Float32Array; loops: Loops; fresh?: boolean },
): void {
  if (dropout === undefined) return;
  const factors = work.keep.subarray(0, t * ceil4(t));
  if (work.fresh !== false) {
    const [k0, k1, k2, k3] = dropout.key;
    work.loops.keep([k0, k1, k2, (k3 ^ index) >>> 0], dropout.rate, factors);
  }
  work.loops.multiply(work.to, factors, work.to);
}

function gradient(
  qkv: tf.Tensor,
  dy: tf.Tensor,
  options: AttentionOptions & { n: number; c: number; square: number },
): tf.Tensor[] {
  const { n, c, square } = options;
  const call = { inputs: [qkv, dy], outputs: [[n, 3 * c]], scratch: [square, square, square] };
  return runHost("attentionGradient", call, ([x, dy], [dx], [weights, keep, work], loops) => {
    const row = 3 * c;
    forEachHead(options, c, (head) => {
      const { t, start, from, d } = head;
      const at = start * row + from;
      const [q, k, v] = [0, c, 2 * c].map((shift) => x!.subarray(at + shift)) as Triple;
      const [dq, dk, dv] = [0, c, 2 * c].map((shift) => dx!.subarray(at + shift)) as Triple;
      const dOut = dy!.subarray(start * c + from);
      const p = attentionWeights(x!, head, { c, out: weights!, loops });
      // dP = (dO Vᵀ) ⊙ keep, where O = (P ⊙ keep) V.
      const stride = ceil4(t);
      const ds = work!.subarray(0, t * stride);
      const vT = { b: v, bRow: 1, bColumn: row };
      loops.product({ m: t, n: t, k: d, a: dOut, aRow: c, ...vT, c: ds, cRow: stride });
      applyKeep(head, options, { keep: keep!, to: ds, loops });
      // dS = P ⊙ (dP − Σⱼ dP ⊙ P) / √D
      loops.softmaxGradient(p, ds, { rows: t, columns: t, stride }, 1 / Math.sqrt(d));
      loops.product({ m: t, n: d, k: t, a: ds, aRow: stride, b: k, bRow: row, c: dq, cRow: row });
      const dsT = { a: ds, aRow: 1, aColumn: stride };
      loops.product({ m: t, n: d, k: t, ...dsT, b: q, bRow: row, c: dk, cRow: row });
      applyKeep(head, options, { keep: keep!, to: p, loops, fresh: false });
      const pT = { a: p, aRow: 1, aColumn: stride };
      loops.product({ m: t, n: d, k: t, ...pT, b: dOut, bRow: c, c: dv, cRow: row });
    });
  });
}

type Triple = [Float32Array, Float32Array, Float32Array];

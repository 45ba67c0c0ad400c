/**
 * Attention within documents in plain TypeScript, head by head: what the `cpu` backend runs. With
 * relative embeddings, keys and values are those of a token plus a row of a table by distance j − i.
 *
 * @module
 */
import type { StreamKey } from "../random.ts";
import type { Loops } from "./scalar.ts";

/** What attention is computed of, and where. */
export interface AttentionTask {
  /** [N, 3C]: queries, keys and values of heads side by side. */
  readonly qkv: Float32Array;
  /** Tables by distance, [2K + 1, C / heads]; none without relative embeddings. */
  readonly keys: Float32Array | undefined;
  readonly values: Float32Array | undefined;
  /** 2K + 1, or 0. */
  readonly distances: number;
  /** Document i has rows offsets_i to offsets_{i+1} − 1. */
  readonly offsets: Int32Array;
  readonly heads: number;
  readonly causal: boolean;
  /** The weights' dropout: head h of document i has the stream first + i × heads + h of `key`. */
  readonly dropout:
    | { readonly rate: number; readonly key: StreamKey; readonly first: number }
    | undefined;
  /** Room for the weights of the longest document's head, twice, and for its scores by distance. */
  readonly work: {
    readonly weights: Float32Array;
    readonly used: Float32Array;
    readonly near: Float32Array;
  };
}

/** What the gradient is computed of besides; `ds` and `dNear` are for work as `weights` and `near` are. */
export interface AttentionSlopes {
  /** What the forward pass left; if it is empty, weights are computed again. */
  readonly weights: Float32Array;
  readonly dy: Float32Array;
  readonly ds: Float32Array;
  readonly dNear: Float32Array;
}

/** The results: the tables' gradients are added to what is there. */
export interface AttentionGradients {
  readonly dx: Float32Array;
  readonly dKeys: Float32Array | undefined;
  readonly dValues: Float32Array | undefined;
}

/** The next multiple of 4: the distance between rows of weights. */
export function ceil4(n: number): number {
  return (n + 3) & ~3;
}

/** The loops that attention is made of. */
type Parts = Pick<Loops, "product" | "softmax" | "multiply" | "keep">;

interface Head {
  /** Tokens, first row, first feature and number of features. */
  readonly t: number;
  readonly start: number;
  readonly from: number;
  readonly d: number;
  /** Distance between rows of weights. */
  readonly stride: number;
  /** Counts (document, head) pairs. */
  readonly index: number;
  /** Elements of the weights of all heads before. */
  readonly at: number;
}

/** C. */
export function widthOf({ qkv, offsets }: AttentionTask): number {
  return qkv.length / offsets.at(-1)! / 3;
}

function forEachHead(task: AttentionTask, visit: (head: Head) => void): void {
  const { offsets, heads } = task;
  const d = widthOf(task) / heads;
  for (let document = 0, index = 0, at = 0; document + 1 < offsets.length; document++) {
    const start = offsets[document]!;
    const t = offsets[document + 1]! - start;
    const stride = ceil4(t);
    for (let h = 0; h < heads; h++, index++, at += t * stride) {
      visit({ t, start, from: h * d, d, stride, index, at });
    }
  }
}

/** y = (P ⊙ factors) V. The weights P are left in `weights`, unless that is empty. */
export function scalarAttention(
  parts: Parts,
  task: AttentionTask,
  { y, weights }: { y: Float32Array; weights: Float32Array },
): void {
  const { qkv, values, distances, work: { near } } = task;
  const c = widthOf(task);
  forEachHead(task, (head) => {
    const { t, d, start, from, stride, at } = head;
    const p = weights.length > 0 ? weights.subarray(at) : task.work.weights;
    weigh(parts, task, { head, p });
    const a = dropped(parts, task, { head, p });
    const v = qkv.subarray(start * 3 * c + 2 * c + from);
    const to = { c: y.subarray(start * c + from), cRow: c };
    parts.product({ m: t, n: d, k: t, a, aRow: stride, b: v, bRow: 3 * c, ...to });
    if (values === undefined) return;
    sumByDistance(a, near, { ...head, distances });
    parts.product({ m: t, n: d, k: distances, a: near, b: values, ...to, accumulate: true });
  });
}

/** p = softmax(Q(K + relative keys)ᵀ/√D) of one head, rows `stride` apart. */
function weigh(
  parts: Parts,
  task: AttentionTask,
  { head: { t, start, from, d, stride, ...head }, p }: { head: Head; p: Float32Array },
): void {
  const { qkv, keys, distances, causal, work: { near } } = task;
  const c = widthOf(task);
  const q = { a: qkv.subarray(start * 3 * c + from), aRow: 3 * c };
  const k = qkv.subarray(start * 3 * c + c + from);
  parts.product({ m: t, n: t, k: d, ...q, b: k, bRow: 1, bColumn: 3 * c, c: p, cRow: stride });
  if (keys !== undefined) {
    parts.product({ m: t, n: distances, k: d, ...q, b: keys, bRow: 1, bColumn: d, c: near });
    addByDistance(near, p, { ...head, t, start, from, d, stride, distances });
  }
  parts.softmax(p, { rows: t, columns: t, stride, causal }, 1 / Math.sqrt(d));
}

type Distances = Head & { readonly distances: number };

/** to[i, j] += near[i, clip(j − i) + K]. */
function addByDistance(near: Float32Array, to: Float32Array, o: Distances): void {
  const { t, stride, distances } = o;
  const k = (distances - 1) / 2;
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      to[i * stride + j]! += near[i * distances + Math.max(-k, Math.min(k, j - i)) + k]!;
    }
  }
}

/** near[i, r] = Σ from[i, j] over the j with clip(j − i) + K = r. */
function sumByDistance(from: Float32Array, near: Float32Array, o: Distances): void {
  const { t, stride, distances } = o;
  const k = (distances - 1) / 2;
  near.fill(0, 0, t * distances);
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < t; j++) {
      near[i * distances + Math.max(-k, Math.min(k, j - i)) + k]! += from[i * stride + j]!;
    }
  }
}

/** One head's dropout factors, in `used`; `undefined` without dropout. */
function factorsOf(
  parts: Parts,
  { dropout, work }: AttentionTask,
  { t, stride, index }: Head,
): Float32Array | undefined {
  if (dropout === undefined) return undefined;
  const factors = work.used.subarray(0, t * stride);
  const [k0, k1, k2, k3] = dropout.key;
  const stream = dropout.first + index;
  parts.keep([k0, k1, k2, (k3 ^ stream) >>> 0], dropout.rate, factors);
  return factors;
}

/** Weights after dropout: in `used`, or the weights themselves. */
function dropped(
  parts: Parts,
  task: AttentionTask,
  { head, p }: { head: Head; p: Float32Array },
): Float32Array {
  const factors = factorsOf(parts, task, head);
  if (factors === undefined) return p;
  parts.multiply(p, factors, factors);
  return factors;
}

type Triple = [Float32Array, Float32Array, Float32Array];

/** The gradients of what {@linkcode scalarAttention} computes. */
export function scalarAttentionGradient(
  parts: Parts,
  task: AttentionTask,
  o: AttentionSlopes,
  to: AttentionGradients,
): void {
  const { qkv, causal } = task, { weights, dy } = o;
  const c = widthOf(task), row = 3 * c;
  forEachHead(task, (head) => {
    const { t, d, start, from, stride } = head;
    const at = start * row + from;
    const [q, k, v] = [0, c, 2 * c].map((shift) => qkv.subarray(at + shift)) as Triple;
    const [dq, dk, dv] = [0, c, 2 * c].map((shift) => to.dx.subarray(at + shift)) as Triple;
    const dOut = dy.subarray(start * c + from);
    const kept = weights.length > 0;
    const p = kept ? weights.subarray(head.at, head.at + t * stride) : task.work.weights;
    if (!kept) weigh(parts, task, { head, p });
    // dP = (dO Vᵀ) ⊙ keep, where O = (P ⊙ keep) V.
    const ds = o.ds.subarray(0, t * stride);
    const vT = { b: v, bRow: 1, bColumn: row };
    parts.product({ m: t, n: t, k: d, a: dOut, aRow: c, ...vT, c: ds, cRow: stride });
    addValues(parts, task, { head, dOut, ds, dNear: o.dNear });
    const factors = factorsOf(parts, task, head);
    if (factors !== undefined) parts.multiply(ds, factors, ds);
    // dS = P ⊙ (dP − Σⱼ dP ⊙ P) / √D
    softmaxGradient(p, ds, { t, stride, causal, scale: 1 / Math.sqrt(d) });
    parts.product({ m: t, n: d, k: t, a: ds, aRow: stride, b: k, bRow: row, c: dq, cRow: row });
    const dsT = { a: ds, aRow: 1, aColumn: stride };
    parts.product({ m: t, n: d, k: t, ...dsT, b: q, bRow: row, c: dk, cRow: row });
    if (factors !== undefined) parts.multiply(p, factors, factors);
    const used = factors ?? p;
    const pT = { a: used, aRow: 1, aColumn: stride };
    parts.product({ m: t, n: d, k: t, ...pT, b: dOut, bRow: c, c: dv, cRow: row });
    tableGradients(parts, task, { head, used, ds, dOut, q, dq, dNear: o.dNear, ...to });
  });
}

/** ds += dO (relative values)ᵀ by distance. */
function addValues(
  parts: Parts,
  task: AttentionTask,
  { head, dOut, ds, dNear }: {
    head: Head;
    dOut: Float32Array;
    ds: Float32Array;
    dNear: Float32Array;
  },
): void {
  const { values, distances } = task, { t, d } = head;
  if (values === undefined) return;
  const b = { b: values, bRow: 1, bColumn: d };
  parts.product({ m: t, n: distances, k: d, a: dOut, aRow: widthOf(task), ...b, c: dNear });
  addByDistance(dNear, ds, { ...head, distances });
}

/** What one head adds to the gradients of both tables, and they to that of its queries. */
function tableGradients(
  parts: Parts,
  task: AttentionTask,
  o: {
    head: Head;
    used: Float32Array;
    ds: Float32Array;
    dOut: Float32Array;
    q: Float32Array;
    dq: Float32Array;
    dNear: Float32Array;
  } & AttentionGradients,
): void {
  const { keys, distances, work: { near } } = task, { t, d } = o.head;
  if (keys === undefined) return;
  const c = widthOf(task), row = 3 * c;
  const byDistance = { m: distances, n: d, k: t, aRow: 1, aColumn: distances };
  sumByDistance(o.used, near, { ...o.head, distances });
  const dV = { b: o.dOut, bRow: c, c: o.dValues!, accumulate: true };
  parts.product({ ...byDistance, a: near, ...dV });
  sumByDistance(o.ds, o.dNear, { ...o.head, distances });
  parts.product({ ...byDistance, a: o.dNear, b: o.q, bRow: row, c: o.dKeys!, accumulate: true });
  const dQ = { c: o.dq, cRow: row, accumulate: true };
  parts.product({ m: t, n: d, k: distances, a: o.dNear, b: keys, ...dQ });
}

/** dx = scale × p ⊙ (dx − Σ dx ⊙ p) by rows, in place; what is between becomes 0. */
function softmaxGradient(
  p: Float32Array,
  dx: Float32Array,
  { t, stride, causal, scale }: { t: number; stride: number; causal: boolean; scale: number },
): void {
  for (let row = 0, start = 0; row < t; row++, start += stride) {
    const end = start + (causal ? row + 1 : t);
    let sum = 0;
    for (let i = start; i < end; i++) sum += dx[i]! * p[i]!;
    for (let i = start; i < end; i++) dx[i] = scale * p[i]! * (dx[i]! - sum);
    dx.fill(0, end, start + stride);
  }
}

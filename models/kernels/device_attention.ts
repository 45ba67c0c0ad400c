/**
 * Attention on a device without its weights in memory: each invocation keeps a row or two and meets
 * the other rows tile by tile, in a fixed order and without atomics.
 *
 * Dao et al. 2022, "FlashAttention", algorithms 1 and 4, with the gradient in two kernels: one owns
 * queries and gives dQ, the other owns keys and gives dK and dV.
 *
 * @module
 */
import * as tf from "@tensorflow/tfjs";
import { attentionForward } from "./attention/forward.ts";
import { type AttentionTraits, MAX_WIDTH, OWN } from "./attention/frame.ts";
import { attentionKeyGradient } from "./attention/key_gradient.ts";
import { attentionQueryGradient } from "./attention/query_gradient.ts";
import { columnSums, runDevice, runShader } from "./device.ts";
import { differentiable } from "./host.ts";

/** As `AttentionOptions`. */
export interface TiledOptions extends Omit<AttentionTraits, "width" | "distances"> {
  readonly offsets: Int32Array;
  readonly relative?: { readonly keys: tf.Tensor; readonly values: tf.Tensor } | undefined;
}

/**
 * softmax(QKᵀ/√D)V within each document; see `attention`.
 *
 * @param qkv float32 [N, 3C], C = heads × D.
 * @returns float32 [N, C].
 * @throws {RangeError} If D is larger than {@linkcode MAX_WIDTH}.
 */
export function deviceAttention(qkv: tf.Tensor, options: TiledOptions): tf.Tensor2D {
  const { heads, relative } = options;
  const n = qkv.shape[0]!, c = qkv.shape[1]! / 3, d = c / heads;
  if (d > MAX_WIDTH) {
    throw new RangeError(
      `Cannot attend on a device: heads must have at most ${MAX_WIDTH} features, whose tiles fit ` +
        `a workgroup's memory, found ${d}; take more heads, or backend wasm`,
    );
  }
  const distances = relative?.keys.shape[0] ?? 0;
  const traits = { ...options, width: d, distances };
  return differentiable<tf.Tensor2D>(
    relative === undefined ? [qkv] : [qkv, relative.keys, relative.values],
    () => {
      const tiles = tileTable(options.offsets, options.dropout?.before ?? 0);
      const tables = relative === undefined ? [] : [tf.concat([relative.keys, relative.values])];
      const [y, logSums] = runShader(
        attentionForward(traits, [qkv, tiles, ...tables], [[n, c], [n, heads]]),
      );
      return { value: y!, keep: [qkv, tiles, y!, logSums!, ...tables] };
    },
    (dy, kept) => {
      const [qkv, tiles, y, logSums, ...tables] = kept as [
        tf.Tensor,
        tf.Tensor,
        tf.Tensor,
        tf.Tensor,
      ];
      const reads = [qkv, tiles, dy, logSums, y, ...tables];
      const outputs = [[n, 3 * c], ...relative === undefined ? [] : [[2, n * heads, distances]]];
      const [dqkv, shares] = runShader(attentionQueryGradient(traits, reads, outputs));
      runShader(attentionKeyGradient(traits, dqkv!, reads));
      if (shares === undefined) return [dqkv!];
      return [dqkv!, ...tableGradients({ shares, qkv, dy }, heads)];
    },
  );
}

/**
 * First and last row of a document (exclusive), first row owned, the document's number in the batch,
 * of which `before` come first: [G, 4].
 */
function tileTable(offsets: Int32Array, before: number): tf.Tensor {
  const tiles: number[] = [];
  for (let document = 0; document + 1 < offsets.length; document++) {
    const start = offsets[document]!, end = offsets[document + 1]!;
    for (let first = start; first < end; first += OWN) {
      tiles.push(start, end, first, before + document);
    }
  }
  return tf.tensor2d(Int32Array.from(tiles), [tiles.length / 4, 4], "int32");
}

/** Rows of all heads that one invocation adds before the sums are added in turn. */
const BLOCK = 256;

/**
 * Gradients of the relative embeddings, [2K + 1, D] of keys and of values: Σ dS q/√D and Σ P dO
 * over what has the same distance, first within each row, which `shares` holds, then over blocks of
 * rows, then over the blocks.
 *
 * @param tensors.shares float32 [2, N × heads, 2K + 1].
 */
function tableGradients(
  tensors: { shares: tf.Tensor; qkv: tf.Tensor; dy: tf.Tensor },
  heads: number,
): tf.Tensor[] {
  const [, rows, distances] = tensors.shares.shape as [number, number, number];
  const c = tensors.dy.shape[1]!, d = c / heads;
  return tf.tidy(() => {
    const blocks = runDevice("attentionTables", {
      inputs: tensors,
      output: [Math.ceil(rows / BLOCK), 2 * distances * d],
      integers: { rows, heads, distances, d },
      floats: { scale: 1 / Math.sqrt(d) },
      element: `
        let entry = index / uniforms.d % (2 * uniforms.distances);
        let first = index / (2 * uniforms.distances * uniforms.d) * ${BLOCK};
        let end = min(first + ${BLOCK}, uniforms.rows);
        let feature = index % uniforms.d;
        let width = uniforms.heads * uniforms.d;
        let ofKeys = entry < uniforms.distances;
        var sum = 0.0;
        for (var row = first; row < end; row = row + 1) {
          let share = shares[select(uniforms.rows + row, row, ofKeys) * uniforms.distances +
            entry % uniforms.distances];
          let at = row % uniforms.heads * uniforms.d + feature;
          if (ofKeys) {
            sum = sum + share * (uniforms.scale * qkv[row / uniforms.heads * 3 * width + at]);
          } else {
            sum = sum + share * dy[row / uniforms.heads * width + at];
          }
        }
        setOutputAtIndex(index, sum);`,
    });
    return tf.split(tf.reshape(columnSums(blocks), [2 * distances, d]), 2);
  });
}

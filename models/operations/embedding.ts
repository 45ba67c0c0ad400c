/** @module */
import * as tf from "@tensorflow/tfjs";
import { gatherRows, sumRows } from "../kernels/device.ts";
import { differentiable, onHost, runHost } from "../kernels/host.ts";

/**
 * Rows of a table: out_i = scale × table[ids_i].
 *
 * The gradient adds the rows of equal ids in the order of the batch, without atomics.
 *
 * @param table float32 [V, C].
 * @param ids N row numbers.
 * @param options.scale Factor, 1 unless given.
 * @param options.padding Row that takes no gradient.
 * @returns float32 [N, C].
 * @throws {RangeError} If an id is not a row of the table.
 */
export function embedding(
  table: tf.Tensor,
  ids: Int32Array,
  options: { scale?: number; padding?: number } = {},
): tf.Tensor2D {
  const [v, c] = table.shape as [number, number];
  const scale = options.scale ?? 1;
  for (const id of ids) {
    if (id < 0 || id >= v) {
      throw new RangeError(`Cannot look up row ${id}: the table has rows 0 to ${v - 1}`);
    }
  }
  if (!onHost()) {
    return differentiable<tf.Tensor2D>(
      [table],
      () => ({ value: gatherRows(table, ids, scale), keep: [] }),
      (dy) => [sumRows(dy, { ...bySource(ids, v, options.padding), scale })],
    );
  }
  const gather = () =>
    runHost(
      "embedding",
      { inputs: [table], outputs: [[ids.length, c]] },
      ([table], [y]) => {
        for (let row = 0, to = 0; row < ids.length; row++) {
          const from = ids[row]! * c;
          for (let j = 0; j < c; j++) y![to++] = scale * table![from + j]!;
        }
      },
    )[0]!;
  return differentiable<tf.Tensor2D>(
    [table],
    () => ({ value: gather(), keep: [] }),
    (dy) =>
      runHost("embeddingGradient", { inputs: [dy], outputs: [[v, c]] }, ([dy], [dTable]) => {
        dTable!.fill(0);
        for (let row = 0, from = 0; row < ids.length; row++, from += c) {
          if (ids[row] === options.padding) continue;
          const to = ids[row]! * c;
          for (let j = 0; j < c; j++) dTable![to + j]! += scale * dy![from + j]!;
        }
      }),
  );
}

/** For each table row, the batch rows it went to, in order; none for `padding`. */
function bySource(
  ids: Int32Array,
  v: number,
  padding?: number,
): { order: Int32Array; starts: Int32Array } {
  const starts = new Int32Array(v + 1);
  for (const id of ids) if (id !== padding) starts[id + 1]!++;
  for (let id = 0; id < v; id++) starts[id + 1]! += starts[id]!;
  const next = starts.slice(), order = new Int32Array(starts[v]!);
  ids.forEach((id, row) => {
    if (id !== padding) order[next[id]!++] = row;
  });
  return { order, starts };
}

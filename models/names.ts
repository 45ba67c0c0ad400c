/**
 * What the parts of the classifier of "Fusion Matters" are called; without tensors, so that a
 * schema can have them.
 *
 * @module
 */

/** The fusion operators by name, in the order in which results list them. */
export const FUSIONS = [
  "add",
  "concat",
  "mul",
  "gate_scalar",
  "gate_vector",
  "gate_cnn",
  "gate_mlp",
  "mlp",
] as const;

/** A fusion operator's name. */
export type Fusion = typeof FUSIONS[number];

/** Whether `gate_cnn` has a gate for each feature (eq. 5) or, as the text says, one for all. */
export const GATE_REDUCES = ["none", "mean"] as const;

/** One of {@linkcode GATE_REDUCES}. */
export type GateReduce = typeof GATE_REDUCES[number];

/** What token embeddings are multiplied with: √d as in the notebooks, or nothing. */
export const EMBEDDING_SCALES = ["sqrt_d", "one"] as const;

/** One of {@linkcode EMBEDDING_SCALES}. */
export type EmbeddingScale = typeof EMBEDDING_SCALES[number];

/** The positional encodings by name: the paper's four, then what enters attention. */
export const ENCODINGS = [
  "sinusoidal",
  "learned",
  "rope",
  "relative",
  "rope_attention",
  "relative_attention",
] as const;

/** An encoding's name. */
export type Encoding = typeof ENCODINGS[number];

/** Whether positions enter the attention, so that there is no P to fuse. */
export function entersAttention(encoding: Encoding): boolean {
  return encoding === "rope_attention" || encoding === "relative_attention";
}

/** The operators that go with an encoding: where nothing is fused, `add` is the name of that. */
export function fusionsWith(encoding: Encoding): readonly Fusion[] {
  return entersAttention(encoding) ? ["add"] : FUSIONS;
}

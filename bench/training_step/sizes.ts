/**
 * The models that are timed, in every implementation alike. Adam's rate is 1e-3. Dropout is 0.1, but
 * there is none in jax-js, which is compared with ours without.
 */
export const SIZES = {
  gpt_small: {
    batch: 8,
    length: 32,
    vocabulary: 65,
    d: 64,
    heads: 2,
    layers: 2,
    dFf: 256,
    classes: 65,
  },
  gpt: {
    batch: 12,
    length: 64,
    vocabulary: 65,
    d: 128,
    heads: 4,
    layers: 4,
    dFf: 512,
    classes: 65,
  },
  classifier: {
    batch: 32,
    length: 64,
    vocabulary: 5000,
    d: 128,
    heads: 4,
    layers: 2,
    dFf: 256,
    classes: 4,
  },
} as const;

export type Model = keyof typeof SIZES;
export type Size = { readonly [key in keyof typeof SIZES["gpt"]]: number };

/** Whether a model predicts the next token, rather than a document's class. */
export function isGpt(model: Model): boolean {
  return model !== "classifier";
}

/** Ids of a batch, and the classes to predict: of every token, or of every document. */
export function batchOf(model: Model): { ids: Int32Array; labels: Int32Array } {
  const { batch, length, vocabulary, classes } = SIZES[model];
  const n = batch * length;
  return {
    ids: Int32Array.from({ length: n }, (_, i) => 1 + (i * 7919 + (i >> 3)) % (vocabulary - 1)),
    labels: Int32Array.from({ length: isGpt(model) ? n : batch }, (_, i) => (i * 31) % classes),
  };
}

/** Implementations of one step give this: runs one step, gives the loss. */
export type Step<T> = () => T;

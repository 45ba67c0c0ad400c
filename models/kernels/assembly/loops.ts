/** What runs in the memory of tfjs's `wasm` backend. */
export { gelu, geluGradient, multiply } from "./activation";
export { fuses } from "./arithmetic";
export { attention, attentionGradient, describe, describeDropout, describeWork } from "./attention";
export { probabilities } from "./cross_entropy";
export { addDropped, keep } from "./dropout";
export { layerNorm, layerNormGradient } from "./layer_norm";
export { fillRows, sumOfRows } from "./linear";
export { adam } from "./optimizer";
export { product } from "./product";
export { softmax } from "./softmax";

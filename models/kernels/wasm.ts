/**
 * The inner loops of training in WebAssembly SIMD, working in the memory of tfjs's `wasm` backend.
 *
 * @module
 */
import type { BackendWasm } from "@tensorflow/tfjs-backend-wasm";
import fused from "./compiled/fused.wasm" with { type: "bytes" };
import strict from "./compiled/strict.wasm" with { type: "bytes" };
import { instantiate, PRODUCT_BYTES } from "./compiled.ts";
import type { Loops, Product } from "./scalar.ts";
import { type AttentionTask, ceil4, widthOf } from "./scalar_attention.ts";

interface Emscripten {
  readonly asm?: { readonly memory?: WebAssembly.Memory };
  _malloc(bytes: number): number;
  _free(address: number): void;
}

/** The loops bound to one backend's memory, with work arrays inside that memory. */
export interface WasmLoops {
  readonly loops: Loops;
  /** Sees to it that slot `slot` holds `length` floats; the result gives the array. */
  reserve(slot: number, length: number): () => Float32Array;
}

/**
 * `strict` rounds every operation, with the same bits on every machine. `fused` rounds a product and its
 * sum once, where the processor does.
 */
export type Arithmetic = keyof typeof CODES;

const CODES = { strict, fused };

const bound = /* @__PURE__ */ new WeakMap<BackendWasm, Partial<Record<Arithmetic, WasmLoops>>>();
const chosen = /* @__PURE__ */ new WeakMap<BackendWasm, WasmLoops>();

/** The loops of a backend, as last chosen. */
export function wasmLoops(backend: BackendWasm): WasmLoops {
  return chosen.get(backend)!;
}

/**
 * Chooses the loops that a backend computes with from now on.
 *
 * @throws {Error} If the backend's memory cannot be reached (another tfjs release), or this machine
 *   does not fuse.
 */
export function chooseLoops(backend: BackendWasm, arithmetic: Arithmetic): void {
  const loops = bound.get(backend) ?? {};
  bound.set(backend, loops);
  chosen.set(
    backend,
    loops[arithmetic] ??= bind(backend.wasm as unknown as Emscripten, arithmetic),
  );
}

function bind(wasm: Emscripten, arithmetic: Arithmetic): WasmLoops {
  const memory = wasm.asm?.memory;
  if (!(memory instanceof WebAssembly.Memory)) {
    throw new Error(
      "Cannot reach the memory of tfjs's wasm backend: it must export asm.memory as 4.22.0 does; " +
        "use that release",
    );
  }
  const slots: { address: number; length: number }[] = [];
  const reserve = (slot: number, length: number) => {
    const held = slots[slot];
    if (held === undefined || held.length < length) {
      if (held !== undefined) wasm._free(held.address);
      slots[slot] = { address: wasm._malloc(length * 4) >>> 0, length };
    }
    return () => new Float32Array(memory.buffer, slots[slot]!.address, length);
  };
  const module = instantiate<Functions>(CODES[arithmetic], memory);
  if (arithmetic === "fused" && module.fuses() === 0) {
    throw new Error(
      "Cannot compute with fused multiply-add: the processor must add to a product without rounding " +
        "it first, and WebAssembly does not here; use backend wasm",
    );
  }
  const work = { packing: wasm._malloc(PRODUCT_BYTES), spare: wasm._malloc(256) };
  return { loops: bindLoops(module, work), reserve };
}

/** The functions of `assembly/loops.ts`; addresses in bytes, counts in elements. */
type Functions =
  & Record<
    | "product"
    | "gelu"
    | "geluGradient"
    | "multiply"
    | "softmax"
    | "attention"
    | "attentionGradient"
    | "describe"
    | "describeDropout"
    | "describeWork"
    | "fillRows"
    | "sumOfRows"
    | "layerNorm"
    | "layerNormGradient"
    | "adam"
    | "probabilities"
    | "addDropped"
    | "keep",
    (...parameters: number[]) => void
  >
  & { readonly fuses: () => number };

const addressOf = ({ byteOffset }: ArrayBufferView) => byteOffset;

/** The address of an array, or 0 if there is nothing in it. */
const addressIfAny = (array: ArrayBufferView | undefined) =>
  array === undefined || array.byteLength === 0 ? 0 : array.byteOffset;

/** Where a product packs, and 256 bytes. */
interface Work {
  readonly packing: number;
  readonly spare: number;
}

/** Says what attention is computed of. */
function describe(module: Functions, { packing, spare }: Work, task: AttentionTask): void {
  const { keys, values, distances, heads, causal, dropout, work } = task;
  const c = widthOf(task), scale = 1 / Math.sqrt(c / heads);
  const tables = [distances, addressIfAny(keys), addressIfAny(values)];
  module.describe(heads, c, causal ? 1 : 0, scale, ...tables);
  const { rate, key, first } = dropout ?? { rate: 0, key: [0, 0, 0, 0], first: 0 };
  const kept = dropout === undefined ? 0 : 1 / (1 - rate);
  module.describeDropout(kept, Math.round(rate * 65536), ...key, first);
  module.describeWork(packing, spare, ...[work.weights, work.used, work.near].map(addressOf));
}

/** Where a document's numbers are. */
interface Document {
  /** Addresses of its queries and of its weights, 0 if these are not kept. */
  readonly qkv: number;
  readonly weights: number;
  /** Bytes from the first of all rows of C numbers to its own. */
  readonly row: number;
  readonly t: number;
  /** Heads of the documents before. */
  readonly first: number;
}

function forEachDocument(
  task: AttentionTask,
  { weights }: { weights: Float32Array },
  visit: (document: Document) => void,
): void {
  const { qkv, offsets, heads } = task, rowBytes = 4 * widthOf(task);
  for (let i = 0, at = addressIfAny(weights); i + 1 < offsets.length; i++) {
    const t = offsets[i + 1]! - offsets[i]!, row = rowBytes * offsets[i]!;
    visit({ qkv: qkv.byteOffset + 3 * row, weights: at, row, t, first: heads * i });
    if (at !== 0) at += 4 * heads * t * ceil4(t);
  }
}

function bindLoops(module: Functions, work: Work): Loops {
  return {
    product: (o) => product(module, work.packing, o),
    gelu: (x, y) => module.gelu(x.byteOffset, y.byteOffset, y.length),
    geluGradient: (x, dy, dx) =>
      module.geluGradient(x.byteOffset, dy.byteOffset, dx.byteOffset, dx.length),
    multiply: (a, b, y) => module.multiply(a.byteOffset, b.byteOffset, y.byteOffset, y.length),
    softmax: (x, { rows, columns, stride, causal }, scale) => {
      const growth = causal ? 1 : 0;
      module.softmax(x.byteOffset, rows, causal ? 1 : columns, growth, stride * 4, scale);
    },
    attention: (task, { y, weights }) => {
      describe(module, work, task);
      forEachDocument(task, { weights }, ({ qkv, weights, row, t, first }) => {
        module.attention(qkv, y.byteOffset + row, weights, t, first);
      });
    },
    attentionGradient: (task, { weights, dy, ds, dNear }, { dx, dKeys, dValues }) => {
      describe(module, work, task);
      const sums = [addressIfAny(dKeys), addressIfAny(dValues), ds.byteOffset, dNear.byteOffset];
      forEachDocument(task, { weights }, ({ qkv, weights, row, t, first }) => {
        const to = dx.byteOffset + 3 * row;
        module.attentionGradient(qkv, weights, dy.byteOffset + row, to, ...sums, t, first);
      });
    },
    fillRows: (b, y) => {
      module.fillRows(b.byteOffset, y.byteOffset, y.length / b.length, b.length);
    },
    sumOfRows: (y, b) => {
      module.sumOfRows(y.byteOffset, b.byteOffset, y.length / b.length, b.length);
    },
    layerNorm: ({ x, gain, bias, epsilon }, { y, normed, inverse }) => {
      const [rows, columns] = [inverse.length, gain.length];
      const from = [x, gain].map(addressOf), to = [y, normed, inverse].map(addressOf);
      module.layerNorm(...from, bias?.byteOffset ?? 0, ...to, rows, columns, epsilon);
    },
    layerNormGradient: ({ normed, inverse, gain, dy }, { dx, dGain, dBias, sums }) => {
      const arrays = [normed, inverse, gain, dy, dx, dGain, dBias].map(addressOf);
      module.layerNormGradient(...arrays, inverse.length, gain.length, sums.byteOffset);
    },
    adam: ({ p, g, m, v }, step) => {
      const { coupled, shrink, beta1, beta2, size, correction, epsilon } = step;
      const arrays = [p, g, m, v].map(addressOf);
      const betas = [beta1, beta2];
      module.adam(...arrays, p.length, coupled, shrink, ...betas, size, correction, epsilon);
    },
    probabilities: (z, k, { p, tops, totals, powers }) => {
      const sums = [tops, totals, powers].map(addressOf);
      module.probabilities(z.byteOffset, p.byteOffset, totals.length, k, ...sums);
    },
    addDropped: ({ x, h, y }, { key, rate, from }) => {
      const limit = Math.round(rate * 65536), kept = 1 / (1 - rate);
      const arrays = [x, h, y].map(addressOf);
      module.addDropped(...arrays, from, y.length, ...key, limit, kept, work.spare);
    },
    keep: (key, rate, out, from = 0) => {
      const limit = Math.round(rate * 65536), kept = 1 / (1 - rate);
      module.keep(out.byteOffset, from, out.length, ...key, limit, kept, work.spare);
    },
  };
}

function product(module: Functions, packing: number, o: Product): void {
  const { m, n, k, a, b, c } = o;
  const aRow = o.aRow ?? k, aColumn = o.aColumn ?? 1;
  const bRow = o.bRow ?? n, bColumn = o.bColumn ?? 1, cRow = o.cRow ?? n;
  module.product(
    m,
    n,
    k,
    a.byteOffset,
    4 * aRow,
    4 * aColumn,
    b.byteOffset,
    4 * bRow,
    4 * bColumn,
    c.byteOffset,
    4 * cRow,
    o.accumulate === true ? 1 : 0,
    packing,
  );
}

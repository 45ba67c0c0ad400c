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
  const work = { packing: wasm._malloc(PRODUCT_BYTES), spare: wasm._malloc(128) };
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
    | "softmaxGradient"
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

function bindLoops(module: Functions, work: { packing: number; spare: number }): Loops {
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
    softmaxGradient: (p, dx, { rows, columns, stride, causal }, scale) => {
      const shape = [rows, causal ? 1 : columns, causal ? 1 : 0, stride * 4];
      module.softmaxGradient(p.byteOffset, dx.byteOffset, ...shape, scale);
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

/**
 * The inner loops of training assembled to WebAssembly SIMD, working in the memory of tfjs's
 * `wasm` backend.
 *
 * @module
 */
import type { BackendWasm } from "@tensorflow/tfjs-backend-wasm";
import { gemm, type GemmModule, instantiateGemm, packedBytes } from "./gemm_wasm.ts";
import { type Loops, type Product, scalarLoops } from "./scalar.ts";

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

const bound = /* @__PURE__ */ new WeakMap<BackendWasm, WasmLoops>();

/**
 * The loops for a backend; assembled on first use.
 *
 * @throws {Error} If the backend's memory cannot be reached (another tfjs release).
 */
export function wasmLoops(backend: BackendWasm): WasmLoops {
  let loops = bound.get(backend);
  if (loops === undefined) {
    loops = bind(backend.wasm as unknown as Emscripten);
    bound.set(backend, loops);
  }
  return loops;
}

function bind(wasm: Emscripten): WasmLoops {
  const memory = wasm.asm?.memory;
  if (!(memory instanceof WebAssembly.Memory)) {
    throw new Error(
      "Cannot reach the memory of tfjs's wasm backend: it must export asm.memory as 4.22.0 does; " +
        "use that release",
    );
  }
  const module = instantiateGemm(memory);
  const slots: { address: number; length: number }[] = [];
  const reserve = (slot: number, length: number) => {
    const held = slots[slot];
    if (held === undefined || held.length < length) {
      if (held !== undefined) wasm._free(held.address);
      slots[slot] = { address: wasm._malloc(length * 4) >>> 0, length };
    }
    return () => new Float32Array(memory.buffer, slots[slot]!.address, length);
  };
  // Slot 0 of `packing` holds B's panels; it grows outside the kernels' own slots.
  const packing = { address: 0, bytes: 0 };
  const packed = (bytes: number) => {
    if (packing.bytes < bytes) {
      if (packing.address !== 0) wasm._free(packing.address);
      packing.bytes = bytes;
      packing.address = wasm._malloc(bytes) >>> 0;
    }
    return packing.address;
  };
  packed(1 << 22);
  return { loops: { ...scalarLoops, product: (o) => product(module, packed, o) }, reserve };
}

function product(module: GemmModule, packed: (bytes: number) => number, o: Product): void {
  const { m, n, k } = o;
  // Strides up to 4·10⁶ columns pass here, so that packing never outgrows what `bind` set aside
  // while views are in use.
  const widest = Math.floor(((1 << 22) / packedBytes(8, k)) - 1) * 8;
  const aRow = o.aRow ?? k, aColumn = o.aColumn ?? 1;
  const bRow = o.bRow ?? n, bColumn = o.bColumn ?? 1, cRow = o.cRow ?? n;
  for (let n0 = 0; n0 < n; n0 += widest) {
    const width = Math.min(widest, n - n0);
    gemm(module, {
      m,
      n: width,
      k,
      a: o.a.byteOffset,
      aRow: aRow * 4,
      aColumn: aColumn * 4,
      b: o.b.byteOffset + n0 * bColumn * 4,
      bRow: bRow * 4,
      bColumn: bColumn * 4,
      c: o.c.byteOffset + n0 * 4,
      cRow: cRow * 4,
      accumulate: o.accumulate === true,
      packed: packed(packedBytes(width, k)),
    });
  }
}

/**
 * The inner loops of training assembled to WebAssembly SIMD, working in the memory of tfjs's
 * `wasm` backend.
 *
 * @module
 */
import type { BackendWasm } from "@tensorflow/tfjs-backend-wasm";
import { ConstantPool, encodeModule } from "./assembler.ts";
import { elementwiseFunctions, type ElementwiseModule } from "./elementwise_wasm.ts";
import { gemm, gemmFunctions, type GemmModule, packedBytes } from "./gemm_wasm.ts";
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
  const pool = new ConstantPool(wasm._malloc(CONSTANTS) >>> 0);
  const code = encodeModule([...gemmFunctions(), ...elementwiseFunctions(pool)]);
  new Int32Array(memory.buffer, pool.address, CONSTANTS / 4).set(pool.words());
  const module = new WebAssembly.Instance(new WebAssembly.Module(code), { host: { memory } })
    .exports as unknown as GemmModule & ElementwiseModule;
  const slots: { address: number; length: number }[] = [];
  const reserve = (slot: number, length: number) => {
    const held = slots[slot];
    if (held === undefined || held.length < length) {
      if (held !== undefined) wasm._free(held.address);
      slots[slot] = { address: wasm._malloc(length * 4) >>> 0, length };
    }
    return () => new Float32Array(memory.buffer, slots[slot]!.address, length);
  };
  const packing = wasm._malloc(PACKING) >>> 0;
  const spare = wasm._malloc(3 * 128) >>> 0;
  return { loops: bindLoops(module, { packing, spare, memory }), reserve };
}

/** Bytes set aside for constants. */
const CONSTANTS = 512;

/** Bytes set aside for packing a product's operand. */
const PACKING = 1 << 22;

interface Work {
  readonly packing: number;
  /** Three blocks of 128 bytes, for the ends of arrays that do not fill a vector. */
  readonly spare: number;
  readonly memory: WebAssembly.Memory;
}

function bindLoops(module: GemmModule & ElementwiseModule, work: Work): Loops {
  const { spare, memory } = work;
  /** Runs `f` on whole vectors, then on the last elements, copied to where a vector fits. */
  const byVectors = (
    inputs: Float32Array[],
    y: Float32Array,
    f: (addresses: number[], to: number, bytes: number) => void,
  ) => {
    const whole = y.length & ~3, rest = y.length - whole;
    f(inputs.map((x) => x.byteOffset), y.byteOffset, whole * 4);
    if (rest === 0) return;
    const copies = inputs.map((x, i) => {
      const copy = new Float32Array(memory.buffer, spare + 128 * (i + 1), 4);
      for (let j = 0; j < rest; j++) copy[j] = x[whole + j]!;
      return copy.byteOffset;
    });
    f(copies, spare, 16);
    y.set(new Float32Array(memory.buffer, spare, rest), whole);
  };
  return {
    product: (o) => product(module, work.packing, o),
    gelu: (x, y) => byVectors([x], y, ([x], y, bytes) => module.gelu(x!, y, bytes)),
    geluGradient: (x, dy, dx) =>
      byVectors([x, dy], dx, ([x, dy], dx, n) => module.geluGradient(x!, dy!, dx, n)),
    multiply: (a, b, y) => byVectors([a, b], y, ([a, b], y, n) => module.multiply(a!, b!, y, n)),
    softmax: (x, { rows, columns, stride, causal }, scale) => {
      const growth = causal ? 1 : 0;
      module.softmax(x.byteOffset, rows, causal ? 1 : columns, growth, stride * 4, scale);
    },
    softmaxGradient: (p, dx, { rows, columns, stride, causal }, scale) => {
      const shape = [rows, causal ? 1 : columns, causal ? 1 : 0, stride * 4];
      module.softmaxGradient(p.byteOffset, dx.byteOffset, ...shape, scale);
    },
    keep: (key, rate, out, from = 0) => {
      const limit = Math.round(rate * 65536), kept = 1 / (1 - rate);
      // Whole groups of 32 where they belong; of the first and the last, the part that is wanted.
      const part = (element: number, count: number, to: number) => {
        if (count === 0) return;
        module.keep(spare, 1, element >>> 5, ...key, limit, kept);
        out.set(new Float32Array(memory.buffer, spare + 4 * (element & 31), count), to);
      };
      const head = Math.min(out.length, (32 - (from & 31)) & 31);
      const groups = (out.length - head) >>> 5, tail = head + 32 * groups;
      part(from, head, 0);
      module.keep(out.byteOffset + 4 * head, groups, (from + head) >>> 5, ...key, limit, kept);
      part(from + tail, out.length - tail, tail);
    },
  };
}

function product(module: GemmModule, packing: number, o: Product): void {
  const { m, n, k } = o;
  // Columns of B whose panels fit where they are packed.
  const widest =
    Math.floor((PACKING - packedBytes(0, k)) / (packedBytes(8, k) - packedBytes(0, k))) * 8;
  const aRow = o.aRow ?? k, aColumn = o.aColumn ?? 1;
  const bRow = o.bRow ?? n, bColumn = o.bColumn ?? 1, cRow = o.cRow ?? n;
  for (let n0 = 0; n0 < n; n0 += widest) {
    gemm(module, {
      m,
      n: Math.min(widest, n - n0),
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
      packed: packing,
    });
  }
}

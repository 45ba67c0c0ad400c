/**
 * Loops over rows of an embedding table in WebAssembly SIMD: sums of rows, AdaGrad where a batch has
 * a gradient, and the weight decay of the steps in which a row had none.
 *
 * All arithmetic is float32 in a fixed order. A row's bytes are a multiple of 16.
 *
 * @module
 */
import { F32, FunctionBuilder, I32, type Local, V128 } from "./assembler.ts";

/** Rows that are added at a time, so that the sum is read and written once for all of them. */
const AT_ONCE = 4;

/** sumRows(to, table, ids, count, bytes of a row, factor): to = factor × Σ table[ids[i]], in order. */
function sumRowsFunction(): FunctionBuilder {
  const f = new FunctionBuilder("sumRows", [I32, I32, I32, I32, I32, F32]);
  const [to, table, ids, count, bytes, factor] = [0, 1, 2, 3, 4, 5];
  const i = f.local(I32), whole = f.local(I32), at = f.local(I32);
  const rows = Array.from({ length: AT_ONCE }, () => f.local(I32));
  const scale = f.local(V128);
  const place = (local: Local) => f.get(local).get(at).op("i32_add");
  const eachVector = (body: () => void) => {
    f.i32(0).set(at).whileLess(at, bytes, () => {
      body();
      f.advance(at, { by: 16 });
    });
  };
  const add = (n: number) => {
    for (let t = 0; t < n; t++) {
      f.get(table).get(ids).memory("i32_load", 4 * t).get(bytes).op("i32_mul", "i32_add");
      f.set(rows[t]!);
    }
    eachVector(() => {
      place(to);
      place(to).memory("v128_load");
      for (let t = 0; t < n; t++) place(rows[t]!).memory("v128_load").op("f32x4_add");
      f.memory("v128_store");
    });
    f.advance(ids, { by: 4 * n }).advance(i, { by: n });
  };
  eachVector(() => place(to).f32x4(0).memory("v128_store"));
  f.get(count).i32(-AT_ONCE).op("i32_and").set(whole).i32(0).set(i);
  f.whileLess(i, whole, () => add(AT_ONCE));
  f.whileLess(i, count, () => add(1));
  f.get(factor).op("f32x4_splat").set(scale);
  eachVector(() => {
    place(to);
    place(to).memory("v128_load").get(scale).op("f32x4_mul").memory("v128_store");
  });
  return f;
}

/** Locals that hold a scalar parameter four times. */
function splats(f: FunctionBuilder, parameters: readonly Local[]): Local[] {
  return parameters.map((parameter) => {
    const local = f.local(V128);
    f.get(parameter).op("f32x4_splat").set(local);
    return local;
  });
}

/**
 * With a gradient in `g`: g ← g + decay θ; h ← h + g²; θ ← θ − rate g / (√h + ε), a vector of each at
 * the addresses that `theta` and `sums` push.
 */
function emitAdagrad(
  f: FunctionBuilder,
  { g, theta, sums }: { g: Local; theta: () => void; sums: () => void },
  { decay, rate, epsilon }: { decay: Local; rate: Local; epsilon: Local },
  h: Local,
): void {
  f.get(g).get(decay);
  theta();
  f.memory("v128_load").op("f32x4_mul", "f32x4_add").set(g);
  sums();
  f.memory("v128_load").get(g).get(g).op("f32x4_mul", "f32x4_add").set(h);
  sums();
  f.get(h).memory("v128_store");
  theta();
  theta();
  f.memory("v128_load").get(rate).get(g).op("f32x4_mul");
  f.get(h).op("f32x4_sqrt").get(epsilon).op("f32x4_add", "f32x4_div", "f32x4_sub");
  f.memory("v128_store");
}

/**
 * stepRow(θ, h, deltas, pairs, count, bytes, decay, rate, ε): AdaGrad of a row whose gradient is
 * Σ coefficient × delta over `count` pairs (int32 byte offset of a delta, float32 coefficient).
 */
function stepRowFunction(): FunctionBuilder {
  const f = new FunctionBuilder("stepRow", [I32, I32, I32, I32, I32, I32, F32, F32, F32]);
  const [theta, sums, deltas, pairs, count, bytes] = [0, 1, 2, 3, 4, 5];
  const at = f.local(I32), pair = f.local(I32), i = f.local(I32);
  const g = f.local(V128), h = f.local(V128);
  const [decay, rate, epsilon] = splats(f, [6, 7, 8]) as [Local, Local, Local];
  const place = (local: Local) => () => void f.get(local).get(at).op("i32_add");
  f.i32(0).set(at).whileLess(at, bytes, () => {
    f.get(pairs).set(pair).i32(0).set(i).f32x4(0).set(g);
    f.whileLess(i, count, () => {
      f.get(g).get(deltas).get(pair).memory("i32_load").op("i32_add").get(at).op("i32_add");
      f.memory("v128_load").get(pair).memory("v128_load32_splat", 4);
      f.op("f32x4_mul", "f32x4_add").set(g);
      f.advance(pair, { by: 8 }).advance(i, { by: 1 });
    });
    emitAdagrad(f, { g, theta: place(theta), sums: place(sums) }, { decay, rate, epsilon }, h);
    f.advance(at, { by: 16 });
  });
  return f;
}

/** stepAll(θ, h, gradient, bytes, decay, rate, ε): AdaGrad of a dense parameter. */
function stepAllFunction(): FunctionBuilder {
  const f = new FunctionBuilder("stepAll", [I32, I32, I32, I32, F32, F32, F32]);
  const [theta, sums, gradient, bytes] = [0, 1, 2, 3];
  const at = f.local(I32), g = f.local(V128), h = f.local(V128);
  const [decay, rate, epsilon] = splats(f, [4, 5, 6]) as [Local, Local, Local];
  const place = (local: Local) => () => void f.get(local).get(at).op("i32_add");
  f.i32(0).set(at).whileLess(at, bytes, () => {
    place(gradient)();
    f.memory("v128_load").set(g);
    emitAdagrad(f, { g, theta: place(theta), sums: place(sums) }, { decay, rate, epsilon }, h);
    f.advance(at, { by: 16 });
  });
  return f;
}

/**
 * decayRow(θ, h, bytes, x, squares, ε, m): what n steps without a gradient do to a row, at once, where
 * x is the rate times the sum of their decays, `squares` the sum of the decays' squares, and m the
 * share of it that stands for those of all steps:
 * q = squares θ²; θ ← θ e^{−x / (√(h + m q) + ε)}; h ← h + q.
 *
 * e^{−u} by (12 − 6u + u²)/(12 + 6u + u²): relative error below u⁵/720.
 */
function decayRowFunction(): FunctionBuilder {
  const f = new FunctionBuilder("decayRow", [I32, I32, I32, F32, F32, F32, F32]);
  const [theta, sums, bytes] = [0, 1, 2];
  const at = f.local(I32), t = f.local(V128), q = f.local(V128), h = f.local(V128);
  const u = f.local(V128), even = f.local(V128);
  const [x, squares, epsilon, mean] = splats(f, [3, 4, 5, 6]) as [Local, Local, Local, Local];
  const place = (local: Local) => f.get(local).get(at).op("i32_add");
  f.i32(0).set(at).whileLess(at, bytes, () => {
    place(theta).memory("v128_load").set(t);
    place(sums).memory("v128_load").set(h);
    f.get(t).get(t).op("f32x4_mul").get(squares).op("f32x4_mul").set(q);
    f.get(x).get(h).get(q).get(mean).op("f32x4_mul", "f32x4_add", "f32x4_sqrt");
    f.get(epsilon).op("f32x4_add", "f32x4_div").set(u);
    place(sums).get(h).get(q).op("f32x4_add").memory("v128_store");
    f.f32x4(12).get(u).get(u).op("f32x4_mul", "f32x4_add").set(even);
    f.get(u).f32x4(6).op("f32x4_mul").set(u);
    place(theta).get(t).get(even).get(u).op("f32x4_sub", "f32x4_mul");
    f.get(even).get(u).op("f32x4_add", "f32x4_div").memory("v128_store");
    f.advance(at, { by: 16 });
  });
  return f;
}

/** The functions of this file, by the names under which they are exported. */
export interface RowsModule {
  readonly sumRows: (...parameters: number[]) => void;
  readonly stepRow: (...parameters: number[]) => void;
  readonly stepAll: (...parameters: number[]) => void;
  readonly decayRow: (...parameters: number[]) => void;
}

/** The functions this file contributes to the assembled kernels. */
export function rowsFunctions(): FunctionBuilder[] {
  return [sumRowsFunction(), stepRowFunction(), stepAllFunction(), decayRowFunction()];
}

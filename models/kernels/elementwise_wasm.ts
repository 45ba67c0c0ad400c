/**
 * Element by element loops in WebAssembly SIMD: GELU, softmax by rows, dropout's factors.
 *
 * All arithmetic is float32; each result is within a few units of the last place of the loops in
 * `scalar.ts`, which say what is computed.
 *
 * @module
 */
import { type ConstantPool, F32, FunctionBuilder, I32, type Local, V128 } from "./assembler.ts";
import { INVERSE_ROOT_TWO_PI, LOG2_E } from "../portable_math.ts";
import { PARITY, ROTATIONS } from "../random.ts";
import { TAIL } from "./scalar.ts";

/** 1.5 × 2²³: added to a small number, it leaves the nearest integer in the last bits. */
const ROUNDER = 12582912;

/** Replaces the vector x ≤ 0 on the stack by eˣ; below −87 by e⁻⁸⁷. */
function emitExp(f: FunctionBuilder, [x, k]: [Local, Local]): void {
  f.f32x4(-87).op("f32x4_max").set(x);
  f.get(x).f32x4(LOG2_E).op("f32x4_mul").f32x4(ROUNDER).op("f32x4_add").set(k);
  // ln 2 in two parts; the first has few enough bits for an exact product.
  f.get(x).get(k).f32x4(ROUNDER).op("f32x4_sub").f32x4(0.693359375).op("f32x4_mul", "f32x4_sub");
  f.get(k).f32x4(ROUNDER).op("f32x4_sub").f32x4(-2.12194440e-4).op("f32x4_mul", "f32x4_sub");
  f.set(x).f32x4(1 / 5040);
  for (const coefficient of [1 / 720, 1 / 120, 1 / 24, 1 / 6, 0.5, 1, 1]) {
    f.get(x).op("f32x4_mul").f32x4(coefficient).op("f32x4_add");
  }
  // The exponent's bits: those of k, which the rounder left last, plus the bias.
  f.get(k).i32(23).op("i32x4_shl").i32x4(127 << 23).op("i32x4_add", "f32x4_mul");
}

interface GeluLocals {
  readonly x: Local;
  readonly z: Local;
  readonly gauss: Local;
  readonly t: Local;
  readonly work: [Local, Local];
}

/** From x: leaves z = |x|, e^{−z²/2} in locals and Φ(−z) on the stack. */
function emitTail(f: FunctionBuilder, { x, z, gauss, t, work }: GeluLocals): void {
  f.get(x).op("f32x4_abs").set(z);
  f.get(z).get(z).op("f32x4_mul").f32x4(-0.5).op("f32x4_mul");
  emitExp(f, work);
  f.set(gauss);
  f.f32x4(1).f32x4(1).get(z).f32x4(6).op("f32x4_min").f32x4(0.25);
  f.op("f32x4_mul", "f32x4_add", "f32x4_div").set(t);
  f.f32x4(TAIL[0]!);
  for (const coefficient of TAIL.slice(1)) {
    f.get(t).op("f32x4_mul").f32x4(coefficient).op("f32x4_add");
  }
  f.get(t).op("f32x4_mul").get(gauss).op("f32x4_mul");
}

function geluLocals(f: FunctionBuilder): GeluLocals {
  const [x, z, gauss, t, a, b] = Array.from({ length: 6 }, () => f.local(V128)) as Six;
  return { x, z, gauss, t, work: [a, b] };
}

type Six = [Local, Local, Local, Local, Local, Local];

/** gelu(x, y, bytes): max(x, 0) − |x| Φ(−|x|). */
function geluFunction(pool: ConstantPool): FunctionBuilder {
  const f = new FunctionBuilder("gelu", [I32, I32, I32], pool);
  const at = f.local(I32);
  const locals = geluLocals(f);
  f.i32(0).set(at).whileLess(at, 2, () => {
    f.get(0).get(at).op("i32_add").memory("v128_load").set(locals.x);
    f.get(1).get(at).op("i32_add");
    f.get(locals.x).f32x4(0).op("f32x4_max");
    emitTail(f, locals);
    f.get(locals.z).op("f32x4_mul", "f32x4_sub").memory("v128_store");
    f.advance(at, { by: 16 });
  });
  return f;
}

/** geluGradient(x, dy, dx, bytes): dy (Φ(x) + x e^{−x²/2}/√(2π)). */
function geluGradientFunction(pool: ConstantPool): FunctionBuilder {
  const f = new FunctionBuilder("geluGradient", [I32, I32, I32, I32], pool);
  const at = f.local(I32);
  const locals = geluLocals(f);
  const tail = f.local(V128);
  f.i32(0).set(at).whileLess(at, 3, () => {
    f.get(0).get(at).op("i32_add").memory("v128_load").set(locals.x);
    f.get(2).get(at).op("i32_add");
    emitTail(f, locals);
    f.set(tail);
    f.get(tail).f32x4(1).get(tail).op("f32x4_sub");
    f.get(locals.x).f32x4(0).op("f32x4_lt", "v128_bitselect");
    f.get(locals.x).get(locals.gauss).op("f32x4_mul").f32x4(INVERSE_ROOT_TWO_PI);
    f.op("f32x4_mul", "f32x4_add");
    f.get(1).get(at).op("i32_add").memory("v128_load").op("f32x4_mul").memory("v128_store");
    f.advance(at, { by: 16 });
  });
  return f;
}

/** multiply(a, b, y, bytes). */
function multiplyFunction(pool: ConstantPool): FunctionBuilder {
  const f = new FunctionBuilder("multiply", [I32, I32, I32, I32], pool);
  const at = f.local(I32);
  f.i32(0).set(at).whileLess(at, 3, () => {
    f.get(2).get(at).op("i32_add");
    f.get(0).get(at).op("i32_add").memory("v128_load");
    f.get(1).get(at).op("i32_add").memory("v128_load").op("f32x4_mul").memory("v128_store");
    f.advance(at, { by: 16 });
  });
  return f;
}

/**
 * Runs `body` for the vectors of a row: `masked` for a last one that the row does not fill.
 * `body` finds the column of lane 0 in `column`; it must not advance it.
 */
function emitRow(
  f: FunctionBuilder,
  columns: Local,
  column: Local,
  body: (masked: boolean) => void,
): void {
  const whole = f.local(I32);
  f.get(columns).i32(-4).op("i32_and").set(whole).i32(0).set(column);
  f.whileLess(column, whole, () => {
    body(false);
    f.advance(column, { by: 4 });
  });
  f.get(whole).get(columns).op("i32_lt_s").when(() => body(true));
}

/** Pushes all ones in the lanes at or before column `columns − 1`, given the column of lane 0. */
function emitInside(f: FunctionBuilder, columns: Local, column: Local): void {
  f.get(columns).get(column).op("i32_sub", "i32x4_splat").i32x4(0, 1, 2, 3).op("i32x4_gt_s");
}

/** Adds (or takes the largest of) the four lanes on the stack. */
function emitAcross(f: FunctionBuilder, vector: Local, op: "f32_add" | "f32_max"): void {
  f.set(vector).get(vector).extract(0).get(vector).extract(1).op(op);
  f.get(vector).extract(2).get(vector).extract(3).op(op, op);
}

/** Stores zeros from address `at` up to `from + stride`. */
function emitClear(f: FunctionBuilder, at: Local, from: Local, stride: Local): void {
  const end = f.local(I32);
  f.get(from).get(stride).op("i32_add").set(end);
  f.whileLess(at, end, () => {
    f.get(at).f32x4(0).memory("v128_store").advance(at, { by: 16 });
  });
}

/** softmax(x, rows, columns of row 0, growth by row, stride in bytes, scale). */
function softmaxFunction(pool: ConstantPool): FunctionBuilder {
  const f = new FunctionBuilder("softmax", [I32, I32, I32, I32, I32, F32], pool);
  const [x, rows, columns, growth, stride, scale] = [0, 1, 2, 3, 4, 5];
  const row = f.local(I32), at = f.local(I32), column = f.local(I32);
  const vector = f.local(V128), work = f.local(V128), best = f.local(V128), sum = f.local(V128);
  const factor = f.local(V128), a = f.local(V128), b = f.local(V128);
  const eachVector = (body: (masked: boolean) => void) => {
    f.get(x).set(at);
    emitRow(f, columns, column, (masked) => {
      body(masked);
      f.advance(at, { by: 16 });
    });
  };
  f.get(scale).op("f32x4_splat").set(factor);
  f.i32(0).set(row).whileLess(row, rows, () => {
    f.f32x4(-3e38).set(best);
    eachVector((masked) => {
      f.get(at).memory("v128_load");
      if (masked) {
        f.f32x4(-3e38);
        emitInside(f, columns, column);
        f.op("v128_bitselect");
      }
      f.get(best).op("f32x4_max").set(best);
    });
    f.get(best);
    emitAcross(f, vector, "f32_max");
    f.op("f32x4_splat").set(best).f32x4(0).set(sum);
    eachVector((masked) => {
      f.get(at).memory("v128_load").get(best).op("f32x4_sub").get(factor).op("f32x4_mul");
      // What a row does not fill may be anything; the mask alone removes it.
      emitExp(f, [a, b]);
      if (masked) {
        emitInside(f, columns, column);
        f.op("v128_and");
      }
      f.set(work);
      f.get(at).get(work).memory("v128_store");
      f.get(sum).get(work).op("f32x4_add").set(sum);
    });
    f.f32(1).get(sum);
    emitAcross(f, vector, "f32_add");
    f.op("f32_div", "f32x4_splat").set(sum);
    eachVector(() => {
      f.get(at).get(at).memory("v128_load").get(sum).op("f32x4_mul").memory("v128_store");
    });
    emitClear(f, at, x, stride);
    f.advance(x, { byLocal: stride }).advance(columns, { byLocal: growth });
    f.advance(row, { by: 1 });
  });
  return f;
}

/** softmaxGradient(p, dx, rows, columns of row 0, growth by row, stride in bytes, scale). */
function softmaxGradientFunction(pool: ConstantPool): FunctionBuilder {
  const f = new FunctionBuilder("softmaxGradient", [I32, I32, I32, I32, I32, I32, F32], pool);
  const [p, dx, rows, columns, growth, stride, scale] = [0, 1, 2, 3, 4, 5, 6];
  const row = f.local(I32), shift = f.local(I32), column = f.local(I32);
  const vector = f.local(V128), sum = f.local(V128);
  const load = (from: Local) => f.get(from).get(shift).op("i32_add").memory("v128_load");
  const eachVector = (body: (masked: boolean) => void) => {
    f.i32(0).set(shift);
    emitRow(f, columns, column, (masked) => {
      body(masked);
      f.advance(shift, { by: 16 });
    });
  };
  f.i32(0).set(row).whileLess(row, rows, () => {
    f.f32x4(0).set(sum);
    eachVector((masked) => {
      load(dx);
      if (masked) {
        emitInside(f, columns, column);
        f.op("v128_and");
      }
      f.set(vector);
      if (masked) {
        f.get(dx).get(shift).op("i32_add").get(vector).memory("v128_store");
      }
      load(p).get(vector).op("f32x4_mul").get(sum).op("f32x4_add").set(sum);
    });
    f.get(sum);
    emitAcross(f, vector, "f32_add");
    f.op("f32x4_splat").set(sum);
    eachVector(() => {
      f.get(dx).get(shift).op("i32_add");
      load(dx).get(sum).op("f32x4_sub");
      load(p).get(scale).op("f32x4_splat", "f32x4_mul", "f32x4_mul").memory("v128_store");
    });
    f.get(dx).get(shift).op("i32_add").set(shift);
    emitClear(f, shift, dx, stride);
    f.advance(p, { byLocal: stride }).advance(dx, { byLocal: stride });
    f.advance(columns, { byLocal: growth }).advance(row, { by: 1 });
  });
  return f;
}

/** keep(out, groups of 32, first group, k0…k3, limit, kept): four Threefry blocks at a time. */
function keepFunction(pool: ConstantPool): FunctionBuilder {
  const f = new FunctionBuilder("keep", [...new Array<number>(8).fill(I32), F32], pool);
  const [out, groups, first, limit, kept] = [0, 1, 2, 7, 8];
  const group = f.local(I32);
  const keys = Array.from({ length: 5 }, () => f.local(V128));
  const x = Array.from({ length: 4 }, () => f.local(V128));
  for (let i = 0; i < 4; i++) f.get(3 + i).op("i32x4_splat").set(keys[i]!);
  f.i32x4(PARITY);
  for (let i = 0; i < 4; i++) f.get(keys[i]!).op("v128_xor");
  f.set(keys[4]!);
  const half = (to: Local, from: Local, rotation: number) => {
    f.get(x[to]!).get(x[from]!).op("i32x4_add").set(x[to]!);
    f.get(x[from]!).i32(rotation).op("i32x4_shl").get(x[from]!).i32(32 - rotation);
    f.op("i32x4_shr_u", "v128_or").get(x[to]!).op("v128_xor").set(x[from]!);
  };
  f.i32(0).set(group).whileLess(group, groups, () => {
    f.get(group).get(first).op("i32_add").i32(4).op("i32_mul", "i32x4_splat").i32x4(0, 1, 2, 3).op(
      "i32x4_add",
    );
    f.get(keys[0]!).op("i32x4_add").set(x[0]!);
    for (let i = 1; i < 4; i++) f.get(keys[i]!).set(x[i]!);
    for (let round = 0; round < 5; round++) {
      const r = ROTATIONS[round & 1]!;
      half(0, 1, r[0]), half(2, 3, r[1]), half(0, 3, r[2]), half(2, 1, r[3]);
      half(0, 1, r[4]), half(2, 3, r[5]), half(0, 3, r[6]), half(2, 1, r[7]);
      for (let i = 0; i < 4; i++) {
        f.get(x[i]!).get(keys[(round + 1 + i) % 5]!).op("i32x4_add").set(x[i]!);
      }
      f.get(x[3]!).i32x4(round + 1).op("i32x4_add").set(x[3]!);
    }
    for (let i = 0; i < 8; i++) {
      f.get(out).get(kept).op("f32x4_splat").get(x[i & 3]!);
      if (i < 4) f.i32x4(0xffff).op("v128_and");
      else f.i32(16).op("i32x4_shr_u");
      f.get(limit).op("i32x4_splat", "i32x4_lt_u", "v128_andnot").memory("v128_store", 16 * i);
    }
    f.advance(out, { by: 128 }).advance(group, { by: 1 });
  });
  return f;
}

/** The functions of this file, by the names under which they are exported. */
export interface ElementwiseModule {
  readonly gelu: (x: number, y: number, bytes: number) => void;
  readonly geluGradient: (x: number, dy: number, dx: number, bytes: number) => void;
  readonly multiply: (a: number, b: number, y: number, bytes: number) => void;
  readonly softmax: (...parameters: number[]) => void;
  readonly softmaxGradient: (...parameters: number[]) => void;
  readonly keep: (...parameters: number[]) => void;
}

/** The functions this file contributes to the assembled kernels. */
export function elementwiseFunctions(pool: ConstantPool): FunctionBuilder[] {
  return [
    geluFunction(pool),
    geluGradientFunction(pool),
    multiplyFunction(pool),
    softmaxFunction(pool),
    softmaxGradientFunction(pool),
    keepFunction(pool),
  ];
}

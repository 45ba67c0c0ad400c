/**
 * Matrix product in WebAssembly SIMD: C[m,n] = A[m,k] B[k,n], each with any row and column stride,
 * so that a transposed or interleaved operand needs no copy.
 *
 * B is packed into panels of eight columns; a tile of 4×8 results stays in registers while k runs.
 * Every element of C is summed over k in order, in blocks of {@linkcode DEPTH}.
 *
 * @module
 */
import { F32, FunctionBuilder, I32, type Local, V128 } from "./assembler.ts";

/** Length of the blocks in which the sum over k is taken; a block of A stays in the L1 cache. */
export const DEPTH = 256;

/** Rows of A treated before the next panel of B; `ROWS` × `DEPTH` floats stay in the L2 cache. */
const ROWS = 128;

const PANEL = 8;
const TILE = 4;

/** Steps of k between two tests for the end, where A's rows lie along k or side by side. */
const UNROLLED = 4;

/** The product's operands, as byte addresses and strides in the shared memory. */
export interface GemmAddresses {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly a: number;
  readonly aRow: number;
  readonly aColumn: number;
  readonly b: number;
  readonly bRow: number;
  readonly bColumn: number;
  readonly c: number;
  readonly cRow: number;
  /** Whether to add to what C holds. */
  readonly accumulate: boolean;
  /** Where to pack B: {@linkcode packedBytes} bytes. */
  readonly packed: number;
}

/** Bytes of scratch memory a product with `n` columns and depth `k` needs. */
export function packedBytes(n: number, k: number): number {
  return (Math.ceil(n / PANEL) * Math.min(k, DEPTH) * PANEL + TILE * PANEL) * 4;
}

/** Packs n columns of B over k rows into panels; missing columns of the last panel become 0. */
function packFunction(): FunctionBuilder {
  const f = new FunctionBuilder("pack", [I32, I32, I32, I32, I32, I32]);
  const [b, bRow, bColumn, n, k, to] = [0, 1, 2, 3, 4, 5];
  const column = f.local(I32), kk = f.local(I32), j = f.local(I32);
  const from = f.local(I32), at = f.local(I32), panelBytes = f.local(I32);
  f.get(k).i32(PANEL * 4).op("i32_mul").set(panelBytes);
  f.i32(0).set(column);
  f.whileLess(column, n, () => {
    // A full panel of adjacent columns: two vectors a row.
    f.get(n).get(column).op("i32_sub").i32(PANEL).op("i32_ge_s");
    f.get(bColumn).i32(4).op("i32_sub", "i32_eqz", "i32_and");
    f.when(() => {
      f.get(b).get(column).i32(4).op("i32_mul", "i32_add").set(from);
      f.get(to).set(at).i32(0).set(kk);
      f.whileLess(kk, k, () => {
        f.get(at).get(from).memory("v128_load").memory("v128_store");
        f.get(at).get(from).memory("v128_load", 16).memory("v128_store", 16);
        f.advance(from, { byLocal: bRow }).advance(at, { by: PANEL * 4 }).advance(kk, { by: 1 });
      });
    }, () => {
      const eight = f.local(I32);
      f.i32(PANEL).set(eight).i32(0).set(j);
      f.whileLess(j, eight, () => {
        f.get(to).get(j).i32(4).op("i32_mul", "i32_add").set(at).i32(0).set(kk);
        f.get(column).get(j).op("i32_add").get(n).op("i32_lt_s");
        f.when(() => {
          f.get(b).get(column).get(j).op("i32_add").get(bColumn).op("i32_mul", "i32_add").set(from);
          f.whileLess(kk, k, () => {
            f.get(at).get(from).memory("f32_load").memory("f32_store");
            f.advance(from, { byLocal: bRow }).advance(at, { by: PANEL * 4 });
            f.advance(kk, { by: 1 });
          });
        }, () => {
          f.whileLess(kk, k, () => {
            f.get(at).i32(0).memory("i32_store");
            f.advance(at, { by: PANEL * 4 }).advance(kk, { by: 1 });
          });
        });
        f.advance(j, { by: 1 });
      });
    });
    f.advance(to, { byLocal: panelBytes }).advance(column, { by: PANEL });
  });
  return f;
}

/** Locals of {@linkcode sumOverK}; the addresses and `kk` move on. */
interface TileLocals {
  /** Where each row of A, and B's panel, is in memory. */
  readonly a: readonly Local[];
  readonly b: Local;
  readonly aRow: Local;
  readonly aColumn: Local;
  readonly kk: Local;
  readonly k: Local;
  /** k without what is over of {@linkcode UNROLLED}. */
  readonly unrolled: Local;
  /** Rows from the tile's first on. */
  readonly left: Local;
  /** Two vectors for each row. */
  readonly sums: readonly Local[];
}

/** Adds the products of a tile over k, in order, to `sums`. */
function sumOverK(f: FunctionBuilder, locals: TileLocals): void {
  const { a, aRow, aColumn, b, kk, k, unrolled, left, sums } = locals;
  const b0 = f.local(V128), b1 = f.local(V128), splat = f.local(V128), rows = f.local(V128);
  // What one k adds: b `step` rows on, and of each row of A what `splatOf` pushes.
  const add = (step: number, splatOf: (t: number) => void) => {
    f.get(b).memory("v128_load", 4 * PANEL * step).set(b0);
    f.get(b).memory("v128_load", 4 * PANEL * step + 16).set(b1);
    for (let t = 0; t < TILE; t++) {
      splatOf(t);
      f.set(splat);
      f.get(sums[2 * t]!).get(splat).get(b0).op("f32x4_mul", "f32x4_add").set(sums[2 * t]!);
      f.get(sums[2 * t + 1]!).get(splat).get(b1).op("f32x4_mul", "f32x4_add");
      f.set(sums[2 * t + 1]!);
    }
  };
  const next = (steps: number) =>
    f.advance(b, { by: 4 * PANEL * steps }).advance(kk, { by: steps });
  const loadSplat = (step: number) => (t: number) =>
    f.get(a[t]!).memory("v128_load32_splat", 4 * step);
  // Rows of A lie along k, or side by side, or anyhow.
  f.get(aColumn).i32(4).op("i32_sub", "i32_eqz");
  f.when(() => {
    f.whileLess(kk, unrolled, () => {
      for (let step = 0; step < UNROLLED; step++) add(step, loadSplat(step));
      for (let t = 0; t < TILE; t++) f.advance(a[t]!, { by: 4 * UNROLLED });
      next(UNROLLED);
    });
  }, () => {
    f.get(aRow).i32(4).op("i32_sub", "i32_eqz");
    f.get(left).i32(TILE).op("i32_ge_s", "i32_and");
    f.when(() => {
      f.whileLess(kk, unrolled, () => {
        for (let step = 0; step < UNROLLED; step++) {
          f.get(a[0]!).memory("v128_load").set(rows).advance(a[0]!, { byLocal: aColumn });
          add(step, (t) => f.spread(rows, t));
        }
        next(UNROLLED);
      });
      for (let t = 1; t < TILE; t++) f.get(a[0]!).i32(4 * t).op("i32_add").set(a[t]!);
    });
  });
  f.whileLess(kk, k, () => {
    add(0, loadSplat(0));
    for (let t = 0; t < TILE; t++) f.advance(a[t]!, { byLocal: aColumn });
    next(1);
  });
}

/** C rows 0..m−1 from A and packed B: tiles of 4×8, partial tiles by way of `spare`. */
function tilesFunction(): FunctionBuilder {
  const f = new FunctionBuilder("tiles", new Array<number>(11).fill(I32));
  const [a, aRow, aColumn, packed, c, cRow, m, n, k, accumulate, spare] = Array.from(
    { length: 11 },
    (_, i) => i,
  ) as [Local, Local, Local, Local, Local, Local, Local, Local, Local, Local, Local];
  const row = f.local(I32), column = f.local(I32), kk = f.local(I32);
  const panel = f.local(I32), b = f.local(I32), target = f.local(I32), targetRow = f.local(I32);
  const aAt = Array.from({ length: TILE }, () => f.local(I32));
  const sums = Array.from({ length: TILE * 2 }, () => f.local(V128));
  const unrolled = f.local(I32), left = f.local(I32);
  const i = f.local(I32), j = f.local(I32), iEnd = f.local(I32), jEnd = f.local(I32);
  const from = f.local(I32), to = f.local(I32), scalar = f.local(F32), full = f.local(I32);
  f.get(k).i32(-UNROLLED).op("i32_and").set(unrolled);
  f.get(packed).set(panel).i32(0).set(column);
  f.whileLess(column, n, () => {
    f.i32(0).set(row);
    f.whileLess(row, m, () => {
      for (let t = 0; t < TILE; t++) {
        // Rows past the last repeat it; their sums are not stored.
        f.get(row).i32(t).op("i32_add").tee(i);
        f.get(m).i32(1).op("i32_sub").tee(j).get(i).get(m).op("i32_lt_s", "select");
        f.get(aRow).op("i32_mul").get(a).op("i32_add").set(aAt[t]!);
        f.f32x4(0).set(sums[2 * t]!).f32x4(0).set(sums[2 * t + 1]!);
      }
      f.get(panel).set(b).i32(0).set(kk);
      f.get(m).get(row).op("i32_sub").set(left);
      sumOverK(f, { a: aAt, aRow, aColumn, b, kk, k, unrolled, left, sums });
      f.get(c).get(row).get(cRow).op("i32_mul", "i32_add").get(column).i32(4);
      f.op("i32_mul", "i32_add").set(to);
      f.get(m).get(row).op("i32_sub").i32(TILE).op("i32_ge_s");
      f.get(n).get(column).op("i32_sub").i32(PANEL).op("i32_ge_s", "i32_and").tee(full);
      f.when(() => f.get(to).set(target).get(cRow).set(targetRow), () => {
        f.get(spare).set(target).i32(PANEL * 4).set(targetRow);
      });
      // Adding to C and storing a whole tile; a partial tile goes to `spare` first.
      f.get(full).get(accumulate).op("i32_and");
      f.when(() => {
        for (let t = 0; t < TILE; t++) {
          for (const half of [0, 1]) {
            f.get(target).memory("v128_load", 16 * half).get(sums[2 * t + half]!);
            f.op("f32x4_add").set(sums[2 * t + half]!);
          }
          f.advance(target, { byLocal: targetRow });
        }
        f.get(to).set(target);
      });
      for (let t = 0; t < TILE; t++) {
        f.get(target).get(sums[2 * t]!).memory("v128_store");
        f.get(target).get(sums[2 * t + 1]!).memory("v128_store", 16);
        f.advance(target, { byLocal: targetRow });
      }
      f.get(full).op("i32_eqz");
      f.when(() => {
        f.get(m).get(row).op("i32_sub").tee(iEnd).i32(TILE).get(iEnd).i32(TILE);
        f.op("i32_lt_s", "select").set(iEnd);
        f.get(n).get(column).op("i32_sub").tee(jEnd).i32(PANEL).get(jEnd).i32(PANEL);
        f.op("i32_lt_s", "select").set(jEnd);
        f.i32(0).set(i);
        f.whileLess(i, iEnd, () => {
          f.get(spare).get(i).i32(PANEL * 4).op("i32_mul", "i32_add").set(from);
          f.get(to).get(i).get(cRow).op("i32_mul", "i32_add").set(target);
          f.i32(0).set(j);
          f.whileLess(j, jEnd, () => {
            f.get(from).memory("f32_load").set(scalar);
            f.get(accumulate).when(() => {
              f.get(target).memory("f32_load").get(scalar).op("f32_add").set(scalar);
            });
            f.get(target).get(scalar).memory("f32_store");
            f.advance(from, { by: 4 }).advance(target, { by: 4 }).advance(j, { by: 1 });
          });
          f.advance(i, { by: 1 });
        });
      });
      f.advance(row, { by: TILE });
    });
    f.get(panel).get(k).i32(PANEL * 4).op("i32_mul", "i32_add").set(panel);
    f.advance(column, { by: PANEL });
  });
  return f;
}

/** The product's inner functions, bound to `memory`. */
export interface GemmModule {
  readonly pack: (...parameters: number[]) => void;
  readonly tiles: (...parameters: number[]) => void;
}

/** The functions this module contributes to the assembled kernels. */
export function gemmFunctions(): FunctionBuilder[] {
  return [packFunction(), tilesFunction()];
}

/** Runs the product described by `o`. */
export function gemm(module: GemmModule, o: GemmAddresses): void {
  const spare = o.packed;
  const panels = o.packed + TILE * PANEL * 4;
  for (let k0 = 0; k0 < o.k; k0 += DEPTH) {
    const depth = Math.min(DEPTH, o.k - k0);
    module.pack(o.b + k0 * o.bRow, o.bRow, o.bColumn, o.n, depth, panels);
    const add = o.accumulate || k0 > 0 ? 1 : 0;
    for (let m0 = 0; m0 < o.m; m0 += ROWS) {
      module.tiles(
        o.a + m0 * o.aRow + k0 * o.aColumn,
        o.aRow,
        o.aColumn,
        panels,
        o.c + m0 * o.cRow,
        o.cRow,
        Math.min(ROWS, o.m - m0),
        o.n,
        depth,
        add,
        spare,
      );
    }
  }
}

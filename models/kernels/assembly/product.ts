/**
 * Matrix product C[m,n] = A[m,k] B[k,n], each with any row and column stride in bytes, so that a
 * transposed or interleaved operand needs no copy.
 *
 * B is packed into panels of eight columns; a tile of rows by eight columns of C stays in registers
 * while k runs. Every element of C is summed over k in order, in blocks of `DEPTH`, whatever the tile.
 */
import { madd } from "./arithmetic";

/** Columns of a panel: two vectors. */
const PANEL: i32 = 8;

/** Length of the blocks in which the sum over k is taken; a panel of B stays in the L1 cache. */
const DEPTH: i32 = 256;

/** Columns of B that are packed at a time; together with A's rows they stay in the L2 cache. */
const WIDTH: i32 = 512;

/** Rows of A treated before the next panel of B. */
const ROWS: i32 = 120;

/**
 * @param work Where to pack B and keep parts of C: `ROWS` × `PANEL` + `DEPTH` × `WIDTH` floats, for
 * which whoever calls gives 1 MiB.
 */
export function product(
  m: i32,
  n: i32,
  k: i32,
  a: usize,
  aRow: i32,
  aColumn: i32,
  b: usize,
  bRow: i32,
  bColumn: i32,
  c: usize,
  cRow: i32,
  accumulate: bool,
  work: usize,
): void {
  const panels = work + 4 * ROWS * PANEL;
  for (let n0 = 0; n0 < n; n0 += WIDTH) {
    const width = min(WIDTH, n - n0);
    // Of no terms the sum is 0, which must be written.
    for (let k0 = 0; k0 == 0 || k0 < k; k0 += DEPTH) {
      const depth = min(DEPTH, k - k0);
      pack(b + k0 * bRow + n0 * bColumn, bRow, bColumn, width, depth, panels);
      for (let m0 = 0; m0 < m; m0 += ROWS) {
        block(
          min(ROWS, m - m0),
          width,
          depth,
          a + m0 * aRow + k0 * aColumn,
          aRow,
          aColumn,
          panels,
          c + m0 * cRow + 4 * n0,
          cRow,
          accumulate || k0 > 0,
          work,
        );
      }
    }
  }
}

/** A block of rows times all panels. */
function block(
  m: i32,
  n: i32,
  k: i32,
  a: usize,
  aRow: i32,
  aColumn: i32,
  panel: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
  spare: usize,
): void {
  for (let column = 0; column < n; column += PANEL) {
    if (column + PANEL <= n) {
      tiles(m, k, a, aRow, aColumn, panel, c, cRow, accumulate);
    } else {
      tiles(m, k, a, aRow, aColumn, panel, spare, 4 * PANEL, false);
      unload(m, n - column, spare, c, cRow, accumulate);
    }
    panel += 4 * PANEL * k;
    c += 4 * PANEL;
  }
}

/** A block of rows times one panel. Fused, a tile of six rows keeps the processor busy. */
function tiles(
  m: i32,
  k: i32,
  a: usize,
  aRow: i32,
  aColumn: i32,
  panel: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let row = 0;
  if (isDefined(FUSED)) {
    // As many sixes as leave fours, if there are any such.
    const over = m % 6, sixes = m - (over == 2 && m > 6 ? 8 : over);
    for (; row < sixes; row += 6) {
      sixRows(k, a, aRow, aColumn, panel, c, cRow, accumulate);
      a += 6 * aRow, c += 6 * cRow;
    }
  }
  for (; row + 4 <= m; row += 4) {
    fourRows(k, a, aRow, aColumn, panel, c, cRow, accumulate);
    a += 4 * aRow, c += 4 * cRow;
  }
  for (; row < m; row++) {
    oneRow(k, a, aColumn, panel, c, accumulate);
    a += aRow, c += cRow;
  }
}

function sixRows(
  k: i32,
  a0: usize,
  aRow: i32,
  aColumn: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let a1 = a0 + aRow, a2 = a1 + aRow, a3 = a2 + aRow, a4 = a3 + aRow, a5 = a4 + aRow;
  let s00 = f32x4.splat(0), s01 = s00, s10 = s00, s11 = s00, s20 = s00, s21 = s00;
  let s30 = s00, s31 = s00, s40 = s00, s41 = s00, s50 = s00, s51 = s00;
  for (const end = b + 4 * PANEL * k; b < end; b += 4 * PANEL) {
    const b0 = v128.load(b), b1 = v128.load(b, 16);
    let x = v128.load32_splat(a0);
    s00 = madd(x, b0, s00), s01 = madd(x, b1, s01), a0 += aColumn;
    x = v128.load32_splat(a1);
    s10 = madd(x, b0, s10), s11 = madd(x, b1, s11), a1 += aColumn;
    x = v128.load32_splat(a2);
    s20 = madd(x, b0, s20), s21 = madd(x, b1, s21), a2 += aColumn;
    x = v128.load32_splat(a3);
    s30 = madd(x, b0, s30), s31 = madd(x, b1, s31), a3 += aColumn;
    x = v128.load32_splat(a4);
    s40 = madd(x, b0, s40), s41 = madd(x, b1, s41), a4 += aColumn;
    x = v128.load32_splat(a5);
    s50 = madd(x, b0, s50), s51 = madd(x, b1, s51), a5 += aColumn;
  }
  store(c, s00, s01, accumulate);
  store(c += cRow, s10, s11, accumulate);
  store(c += cRow, s20, s21, accumulate);
  store(c += cRow, s30, s31, accumulate);
  store(c += cRow, s40, s41, accumulate);
  store(c += cRow, s50, s51, accumulate);
}

function fourRows(
  k: i32,
  a0: usize,
  aRow: i32,
  aColumn: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let a1 = a0 + aRow, a2 = a1 + aRow, a3 = a2 + aRow;
  let s00 = f32x4.splat(0), s01 = s00, s10 = s00, s11 = s00;
  let s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  for (const end = b + 4 * PANEL * k; b < end; b += 4 * PANEL) {
    const b0 = v128.load(b), b1 = v128.load(b, 16);
    let x = v128.load32_splat(a0);
    s00 = madd(x, b0, s00), s01 = madd(x, b1, s01), a0 += aColumn;
    x = v128.load32_splat(a1);
    s10 = madd(x, b0, s10), s11 = madd(x, b1, s11), a1 += aColumn;
    x = v128.load32_splat(a2);
    s20 = madd(x, b0, s20), s21 = madd(x, b1, s21), a2 += aColumn;
    x = v128.load32_splat(a3);
    s30 = madd(x, b0, s30), s31 = madd(x, b1, s31), a3 += aColumn;
  }
  store(c, s00, s01, accumulate);
  store(c += cRow, s10, s11, accumulate);
  store(c += cRow, s20, s21, accumulate);
  store(c += cRow, s30, s31, accumulate);
}

function oneRow(k: i32, a: usize, aColumn: i32, b: usize, c: usize, accumulate: bool): void {
  let low = f32x4.splat(0), high = low;
  for (const end = b + 4 * PANEL * k; b < end; b += 4 * PANEL) {
    const x = v128.load32_splat(a);
    low = madd(x, v128.load(b), low);
    high = madd(x, v128.load(b, 16), high);
    a += aColumn;
  }
  store(c, low, high, accumulate);
}

function store(c: usize, low: v128, high: v128, accumulate: bool): void {
  if (accumulate) {
    low = f32x4.add(v128.load(c), low);
    high = f32x4.add(v128.load(c, 16), high);
  }
  v128.store(c, low);
  v128.store(c, high, 16);
}

/** Moves `n` columns of a panel of results to C. */
function unload(m: i32, n: i32, from: usize, c: usize, cRow: i32, accumulate: bool): void {
  for (let row = 0; row < m; row++) {
    for (let at = 0; at < 4 * n; at += 4) {
      const value = f32.load(from + at);
      f32.store(c + at, accumulate ? f32.load(c + at) + value : value);
    }
    from += 4 * PANEL, c += cRow;
  }
}

/** Packs n columns of B over k rows into panels; missing columns of the last panel become 0. */
function pack(b: usize, bRow: i32, bColumn: i32, n: i32, k: i32, to: usize): void {
  for (let column = 0; column < n; column += PANEL) {
    if (n - column < PANEL) {
      packColumns(b, bRow, bColumn, n - column, k, to);
    } else if (bColumn == 4) {
      packRows(b, bRow, k, to);
    } else if (bRow == 4) {
      packTransposed(b, bColumn, k, to);
      packTransposed(b + 4 * bColumn, bColumn, k, to + 16);
    } else {
      packColumns(b, bRow, bColumn, PANEL, k, to);
    }
    b += PANEL * bColumn;
    to += 4 * PANEL * k;
  }
}

/** A panel whose rows' numbers are side by side. */
function packRows(b: usize, bRow: i32, k: i32, to: usize): void {
  for (let kk = 0; kk < k; kk++) {
    v128.store(to, v128.load(b));
    v128.store(to, v128.load(b, 16), 16);
    b += bRow, to += 4 * PANEL;
  }
}

/** Half a panel whose columns' numbers are side by side: transposes four by four. */
function packTransposed(b0: usize, bColumn: i32, k: i32, to: usize): void {
  let b1 = b0 + bColumn, b2 = b1 + bColumn, b3 = b2 + bColumn;
  let kk = 0;
  for (; kk + 4 <= k; kk += 4) {
    const c0 = v128.load(b0), c1 = v128.load(b1), c2 = v128.load(b2), c3 = v128.load(b3);
    const upper01 = v128.shuffle<f32>(c0, c1, 0, 4, 1, 5);
    const lower01 = v128.shuffle<f32>(c0, c1, 2, 6, 3, 7);
    const upper23 = v128.shuffle<f32>(c2, c3, 0, 4, 1, 5);
    const lower23 = v128.shuffle<f32>(c2, c3, 2, 6, 3, 7);
    v128.store(to, v128.shuffle<f32>(upper01, upper23, 0, 1, 4, 5));
    v128.store(to, v128.shuffle<f32>(upper01, upper23, 2, 3, 6, 7), 4 * PANEL);
    v128.store(to, v128.shuffle<f32>(lower01, lower23, 0, 1, 4, 5), 8 * PANEL);
    v128.store(to, v128.shuffle<f32>(lower01, lower23, 2, 3, 6, 7), 12 * PANEL);
    b0 += 16, b1 += 16, b2 += 16, b3 += 16, to += 16 * PANEL;
  }
  for (; kk < k; kk++) {
    f32.store(to, f32.load(b0)), f32.store(to, f32.load(b1), 4);
    f32.store(to, f32.load(b2), 8), f32.store(to, f32.load(b3), 12);
    b0 += 4, b1 += 4, b2 += 4, b3 += 4, to += 4 * PANEL;
  }
}

/** The first `n` columns of a panel, number by number. */
function packColumns(b: usize, bRow: i32, bColumn: i32, n: i32, k: i32, to: usize): void {
  for (let kk = 0; kk < k; kk++) {
    for (let j = 0; j < PANEL; j++) {
      f32.store(to + 4 * j, j < n ? f32.load(b + j * bColumn) : 0);
    }
    b += bRow, to += 4 * PANEL;
  }
}

/**
 * Matrix product C[m,n] = A[m,k] B[k,n], each with any row and column stride in bytes, so that a
 * transposed or interleaved operand needs no copy.
 *
 * B is packed into panels of eight columns, and A, unless its columns' numbers are side by side, into
 * panels of eight rows; a tile of C stays in registers while k runs. Every element of C is summed over k in
 * order, in blocks of `DEPTH`, whatever the tile.
 *
 * Tiles are made for vectors of 256 bits, into which V8 joins two that are stored side by side
 * (docs/kernels.md): of four rows by sixteen columns, eight of them are summed at a time.
 */
import { madd } from "./arithmetic";

/** Columns of a panel: two vectors. */
const PANEL: i32 = 8;

/** Length of the blocks in which the sum over k is taken; a panel of B stays in the L1 cache. */
const DEPTH: i32 = 256;

/** Columns of B that are packed at a time; together with A's rows they stay in the L2 cache. */
const WIDTH: i32 = 512;

/** Rows of A treated before the next panel of B: whole panels. */
const ROWS: i32 = 120;

/**
 * @param work Where to pack A and B and keep parts of C: `ROWS` × `PANEL` + `DEPTH` × (`WIDTH` + `ROWS`)
 * floats, for which whoever calls gives 1 MiB.
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
  const panels = work + 4 * ROWS * PANEL, packed = panels + 4 * DEPTH * WIDTH;
  for (let n0 = 0; n0 < n; n0 += WIDTH) {
    const width = min(WIDTH, n - n0);
    // Of no terms the sum is 0, which must be written.
    for (let k0 = 0; k0 == 0 || k0 < k; k0 += DEPTH) {
      const depth = min(DEPTH, k - k0), adds = accumulate || k0 > 0;
      pack(b + k0 * bRow + n0 * bColumn, bRow, bColumn, width, depth, panels);
      for (let m0 = 0; m0 < m; m0 += ROWS) {
        const rows = min(ROWS, m - m0), to = c + m0 * cRow + 4 * n0;
        let from = a + m0 * aRow + k0 * aColumn, panel = 4 * PANEL, step = aColumn;
        if (aRow != 4) {
          pack(from, aColumn, aRow, rows, depth, packed);
          from = packed, panel = 4 * PANEL * depth, step = 4 * PANEL;
        }
        block(rows, width, depth, from, panel, step, panels, to, cRow, adds, work);
      }
    }
  }
}

/**
 * A block of rows times all panels of B.
 *
 * @param aPanel Bytes from one eight rows of A to the next.
 * @param aStep Bytes from one column of A to the next.
 */
function block(
  m: i32,
  n: i32,
  k: i32,
  a: usize,
  aPanel: i32,
  aStep: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
  spare: usize,
): void {
  const bytes = 4 * PANEL * k;
  let column = 0;
  for (; column + 2 * PANEL <= n; column += 2 * PANEL) {
    twoPanels(m, k, a, aPanel, aStep, b, c, cRow, accumulate);
    b += 2 * bytes, c += 8 * PANEL;
  }
  for (; column < n; column += PANEL) {
    if (column + PANEL <= n) {
      onePanel(m, k, a, aPanel, aStep, b, c, cRow, accumulate);
    } else {
      onePanel(m, k, a, aPanel, aStep, b, spare, 4 * PANEL, false);
      unload(m, n - column, spare, c, cRow, accumulate);
    }
    b += bytes, c += 4 * PANEL;
  }
}

/** Where a row of A begins. */
function rowOf(a: usize, aPanel: i32, row: i32): usize {
  return a + (row >> 3) * aPanel + 4 * (row & 7);
}

/** A block of rows times two panels of B, one after the other. */
function twoPanels(
  m: i32,
  k: i32,
  a: usize,
  aPanel: i32,
  aStep: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let row = 0;
  for (; row + 4 <= m; row += 4, c += 4 * cRow) {
    fourBySixteen(k, rowOf(a, aPanel, row), aStep, b, c, cRow, accumulate);
  }
  for (; row < m; row++, c += cRow) {
    const from = rowOf(a, aPanel, row);
    oneByEight(k, from, aStep, b, c, accumulate);
    oneByEight(k, from, aStep, b + 4 * PANEL * k, c + 4 * PANEL, accumulate);
  }
}

/** A block of rows times one panel of B. */
function onePanel(
  m: i32,
  k: i32,
  a: usize,
  aPanel: i32,
  aStep: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let row = 0;
  for (; row + 8 <= m; row += 8, c += 8 * cRow) {
    eightByEight(k, rowOf(a, aPanel, row), aStep, b, c, cRow, accumulate);
  }
  for (; row + 4 <= m; row += 4, c += 4 * cRow) {
    fourByEight(k, rowOf(a, aPanel, row), aStep, b, c, cRow, accumulate);
  }
  for (; row < m; row++, c += cRow) {
    oneByEight(k, rowOf(a, aPanel, row), aStep, b, c, accumulate);
  }
}

function fourBySixteen(
  k: i32,
  a: usize,
  aStep: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let s00 = f32x4.splat(0), s01 = s00, s02 = s00, s03 = s00;
  let s10 = s00, s11 = s00, s12 = s00, s13 = s00;
  let s20 = s00, s21 = s00, s22 = s00, s23 = s00;
  let s30 = s00, s31 = s00, s32 = s00, s33 = s00;
  let next = b + 4 * PANEL * k;
  for (const end = next; b < end; a += aStep, b += 4 * PANEL, next += 4 * PANEL) {
    const b0 = v128.load(b), b1 = v128.load(b, 16);
    const b2 = v128.load(next), b3 = v128.load(next, 16);
    let x = v128.load32_splat(a);
    s00 = madd(x, b0, s00), s01 = madd(x, b1, s01);
    s02 = madd(x, b2, s02), s03 = madd(x, b3, s03);
    x = v128.load32_splat(a, 4);
    s10 = madd(x, b0, s10), s11 = madd(x, b1, s11);
    s12 = madd(x, b2, s12), s13 = madd(x, b3, s13);
    x = v128.load32_splat(a, 8);
    s20 = madd(x, b0, s20), s21 = madd(x, b1, s21);
    s22 = madd(x, b2, s22), s23 = madd(x, b3, s23);
    x = v128.load32_splat(a, 12);
    s30 = madd(x, b0, s30), s31 = madd(x, b1, s31);
    s32 = madd(x, b2, s32), s33 = madd(x, b3, s33);
  }
  store(c, s00, s01, accumulate);
  store(c + 4 * PANEL, s02, s03, accumulate);
  store(c += cRow, s10, s11, accumulate);
  store(c + 4 * PANEL, s12, s13, accumulate);
  store(c += cRow, s20, s21, accumulate);
  store(c + 4 * PANEL, s22, s23, accumulate);
  store(c += cRow, s30, s31, accumulate);
  store(c + 4 * PANEL, s32, s33, accumulate);
}

function eightByEight(
  k: i32,
  a: usize,
  aStep: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let s00 = f32x4.splat(0), s01 = s00, s10 = s00, s11 = s00;
  let s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  let s40 = s00, s41 = s00, s50 = s00, s51 = s00;
  let s60 = s00, s61 = s00, s70 = s00, s71 = s00;
  for (const end = b + 4 * PANEL * k; b < end; a += aStep, b += 4 * PANEL) {
    const b0 = v128.load(b), b1 = v128.load(b, 16);
    let x = v128.load32_splat(a);
    s00 = madd(x, b0, s00), s01 = madd(x, b1, s01);
    x = v128.load32_splat(a, 4);
    s10 = madd(x, b0, s10), s11 = madd(x, b1, s11);
    x = v128.load32_splat(a, 8);
    s20 = madd(x, b0, s20), s21 = madd(x, b1, s21);
    x = v128.load32_splat(a, 12);
    s30 = madd(x, b0, s30), s31 = madd(x, b1, s31);
    x = v128.load32_splat(a, 16);
    s40 = madd(x, b0, s40), s41 = madd(x, b1, s41);
    x = v128.load32_splat(a, 20);
    s50 = madd(x, b0, s50), s51 = madd(x, b1, s51);
    x = v128.load32_splat(a, 24);
    s60 = madd(x, b0, s60), s61 = madd(x, b1, s61);
    x = v128.load32_splat(a, 28);
    s70 = madd(x, b0, s70), s71 = madd(x, b1, s71);
  }
  store(c, s00, s01, accumulate);
  store(c += cRow, s10, s11, accumulate);
  store(c += cRow, s20, s21, accumulate);
  store(c += cRow, s30, s31, accumulate);
  store(c += cRow, s40, s41, accumulate);
  store(c += cRow, s50, s51, accumulate);
  store(c += cRow, s60, s61, accumulate);
  store(c += cRow, s70, s71, accumulate);
}

function fourByEight(
  k: i32,
  a: usize,
  aStep: i32,
  b: usize,
  c: usize,
  cRow: i32,
  accumulate: bool,
): void {
  let s00 = f32x4.splat(0), s01 = s00, s10 = s00, s11 = s00;
  let s20 = s00, s21 = s00, s30 = s00, s31 = s00;
  for (const end = b + 4 * PANEL * k; b < end; a += aStep, b += 4 * PANEL) {
    const b0 = v128.load(b), b1 = v128.load(b, 16);
    let x = v128.load32_splat(a);
    s00 = madd(x, b0, s00), s01 = madd(x, b1, s01);
    x = v128.load32_splat(a, 4);
    s10 = madd(x, b0, s10), s11 = madd(x, b1, s11);
    x = v128.load32_splat(a, 8);
    s20 = madd(x, b0, s20), s21 = madd(x, b1, s21);
    x = v128.load32_splat(a, 12);
    s30 = madd(x, b0, s30), s31 = madd(x, b1, s31);
  }
  store(c, s00, s01, accumulate);
  store(c += cRow, s10, s11, accumulate);
  store(c += cRow, s20, s21, accumulate);
  store(c += cRow, s30, s31, accumulate);
}

function oneByEight(
  k: i32,
  a: usize,
  aStep: i32,
  b: usize,
  c: usize,
  accumulate: bool,
): void {
  let low = f32x4.splat(0), high = low;
  for (const end = b + 4 * PANEL * k; b < end; a += aStep, b += 4 * PANEL) {
    const x = v128.load32_splat(a);
    low = madd(x, v128.load(b), low), high = madd(x, v128.load(b, 16), high);
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

/** Packs n columns over k rows into panels of eight; what the last does not fill stays as it was. */
function pack(b: usize, bRow: i32, bColumn: i32, n: i32, k: i32, to: usize): void {
  for (let column = 0; column < n; column += PANEL) {
    const columns = min(PANEL, n - column);
    if (columns == PANEL && bColumn == 4) {
      packRows(b, bRow, k, to);
    } else if (columns == PANEL && bRow == 4) {
      packTransposed(b, bColumn, k, to);
      packTransposed(b + 4 * bColumn, bColumn, k, to + 16);
    } else {
      for (let j = 0; j < columns; j++) packColumn(b + j * bColumn, bRow, k, to + 4 * j);
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

/** One column of a panel. */
function packColumn(b: usize, bRow: i32, k: i32, to: usize): void {
  for (const end = to + 4 * PANEL * k; to < end; to += 4 * PANEL, b += bRow) {
    f32.store(to, f32.load(b));
  }
}

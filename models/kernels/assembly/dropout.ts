/** Dropout from counters: Threefry-4x32-20 (random.ts), two times four blocks at a time. */

function rotated(x: v128, bits: i32): v128 {
  return v128.or(i32x4.shl(x, bits), i32x4.shr_u(x, 32 - bits));
}

/** In each lane `kept`, or 0 where what chance has is below the limit. */
function factor(chance: v128, limit: v128, kept: v128): v128 {
  return v128.andnot(kept, i32x4.lt_u(chance, limit));
}

/** Elements that are drawn for at a time: two groups of 32. */
export const DRAWN: u32 = 64;

/** Where `draw` put the factor of an element, by its number among those that were drawn for. */
export function factorAt(drawn: usize, element: u32): usize {
  return drawn + 32 * ((element >> 2) & 7) + 16 * (element >> 5) + 4 * (element & 3);
}

/**
 * Draws the factors of elements 64p to 64p + 63, p being `pair`, into 256 bytes; see `keepFactors` in
 * scalar.ts. A vector of the first group of 32 has that of the second beside it, so that V8 can join them.
 */
export function draw(
  to: usize,
  pair: u32,
  k0: i32,
  k1: i32,
  k2: i32,
  k3: i32,
  limit: i32,
  kept: f32,
): void {
  let a = i32x4.splat(k1), b = i32x4.splat(k2), c = i32x4.splat(k3);
  let d = i32x4.splat(0x1bd11bda ^ k0 ^ k1 ^ k2 ^ k3), e = i32x4.splat(k0);
  const first = i32x4.splat(8 * pair);
  let x0 = i32x4.add(i32x4.add(first, i32x4(0, 1, 2, 3)), e), x1 = a, x2 = b, x3 = c;
  let y0 = i32x4.add(i32x4.add(first, i32x4(4, 5, 6, 7)), e), y1 = a, y2 = b, y3 = c;
  for (let round = 1; round <= 5; round++) {
    if ((round & 1) == 1) {
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 10), x0);
      y0 = i32x4.add(y0, y1), y1 = v128.xor(rotated(y1, 10), y0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 26), x2);
      y2 = i32x4.add(y2, y3), y3 = v128.xor(rotated(y3, 26), y2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 11), x0);
      y0 = i32x4.add(y0, y3), y3 = v128.xor(rotated(y3, 11), y0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 21), x2);
      y2 = i32x4.add(y2, y1), y1 = v128.xor(rotated(y1, 21), y2);
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 13), x0);
      y0 = i32x4.add(y0, y1), y1 = v128.xor(rotated(y1, 13), y0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 27), x2);
      y2 = i32x4.add(y2, y3), y3 = v128.xor(rotated(y3, 27), y2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 23), x0);
      y0 = i32x4.add(y0, y3), y3 = v128.xor(rotated(y3, 23), y0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 5), x2);
      y2 = i32x4.add(y2, y1), y1 = v128.xor(rotated(y1, 5), y2);
    } else {
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 6), x0);
      y0 = i32x4.add(y0, y1), y1 = v128.xor(rotated(y1, 6), y0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 20), x2);
      y2 = i32x4.add(y2, y3), y3 = v128.xor(rotated(y3, 20), y2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 17), x0);
      y0 = i32x4.add(y0, y3), y3 = v128.xor(rotated(y3, 17), y0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 11), x2);
      y2 = i32x4.add(y2, y1), y1 = v128.xor(rotated(y1, 11), y2);
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 25), x0);
      y0 = i32x4.add(y0, y1), y1 = v128.xor(rotated(y1, 25), y0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 10), x2);
      y2 = i32x4.add(y2, y3), y3 = v128.xor(rotated(y3, 10), y2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 18), x0);
      y0 = i32x4.add(y0, y3), y3 = v128.xor(rotated(y3, 18), y0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 20), x2);
      y2 = i32x4.add(y2, y1), y1 = v128.xor(rotated(y1, 20), y2);
    }
    const last = i32x4.splat(round);
    x0 = i32x4.add(x0, a), y0 = i32x4.add(y0, a);
    x1 = i32x4.add(x1, b), y1 = i32x4.add(y1, b);
    x2 = i32x4.add(x2, c), y2 = i32x4.add(y2, c);
    x3 = i32x4.add(i32x4.add(x3, d), last), y3 = i32x4.add(i32x4.add(y3, d), last);
    const next = a;
    a = b, b = c, c = d, d = e, e = next;
  }
  const low = i32x4.splat(0xffff), limits = i32x4.splat(limit), all = f32x4.splat(kept);
  store(to, factor(v128.and(x0, low), limits, all), factor(v128.and(y0, low), limits, all));
  store(to + 32, factor(v128.and(x1, low), limits, all), factor(v128.and(y1, low), limits, all));
  store(to + 64, factor(v128.and(x2, low), limits, all), factor(v128.and(y2, low), limits, all));
  store(to + 96, factor(v128.and(x3, low), limits, all), factor(v128.and(y3, low), limits, all));
  to += 128;
  store(to, factor(i32x4.shr_u(x0, 16), limits, all), factor(i32x4.shr_u(y0, 16), limits, all));
  store(
    to + 32,
    factor(i32x4.shr_u(x1, 16), limits, all),
    factor(i32x4.shr_u(y1, 16), limits, all),
  );
  store(
    to + 64,
    factor(i32x4.shr_u(x2, 16), limits, all),
    factor(i32x4.shr_u(y2, 16), limits, all),
  );
  store(
    to + 96,
    factor(i32x4.shr_u(x3, 16), limits, all),
    factor(i32x4.shr_u(y3, 16), limits, all),
  );
}

function store(to: usize, left: v128, right: v128): void {
  v128.store(to, left);
  v128.store(to, right, 16);
}

/** The factors of `count` elements from element `from` on, drawn in 256 bytes at `drawn`. */
export function keep(
  out: usize,
  from: u32,
  count: u32,
  k0: i32,
  k1: i32,
  k2: i32,
  k3: i32,
  limit: i32,
  kept: f32,
  drawn: usize,
): void {
  for (const end = from + count; from < end;) {
    const first = from % DRAWN, wanted = min<u32>(DRAWN - first, end - from);
    draw(drawn, from / DRAWN, k0, k1, k2, k3, limit, kept);
    if (wanted == DRAWN) {
      for (let i: u32 = 0; i < DRAWN; i += 4) {
        v128.store(out + 4 * i, v128.load(factorAt(drawn, i)));
      }
    } else {
      for (let i: u32 = 0; i < wanted; i++) {
        f32.store(out + 4 * i, f32.load(factorAt(drawn, first + i)));
      }
    }
    out += 4 * wanted, from += wanted;
  }
}

/** y = x + h ⊙ the factors of `count` elements from element `from` on. */
export function addDropped(
  x: usize,
  h: usize,
  y: usize,
  from: u32,
  count: u32,
  k0: i32,
  k1: i32,
  k2: i32,
  k3: i32,
  limit: i32,
  kept: f32,
  drawn: usize,
): void {
  for (const end = from + count; from < end;) {
    const first = from % DRAWN, wanted = min<u32>(DRAWN - first, end - from);
    draw(drawn, from / DRAWN, k0, k1, k2, k3, limit, kept);
    if (wanted == DRAWN) {
      for (let i: u32 = 0, at = 0; i < DRAWN; i += 4, at += 16) {
        const dropped = f32x4.mul(v128.load(h + at), v128.load(factorAt(drawn, i)));
        v128.store(y + at, f32x4.add(v128.load(x + at), dropped));
      }
    } else {
      for (let i: u32 = 0; i < wanted; i++) {
        const dropped = f32.load(h + 4 * i) * f32.load(factorAt(drawn, first + i));
        f32.store(y + 4 * i, f32.load(x + 4 * i) + dropped);
      }
    }
    x += 4 * wanted, h += 4 * wanted, y += 4 * wanted, from += wanted;
  }
}

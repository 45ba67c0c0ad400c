/** Dropout from counters: Threefry-4x32-20 (random.ts), four blocks at a time. */

function rotated(x: v128, bits: i32): v128 {
  return v128.or(i32x4.shl(x, bits), i32x4.shr_u(x, 32 - bits));
}

/** In each lane `kept`, or 0 where what chance has is below the limit. */
function factor(chance: v128, limit: v128, kept: v128): v128 {
  return v128.andnot(kept, i32x4.lt_u(chance, limit));
}

/** The factors of elements 32g to 32g + 31, g being `group`; see `keepFactors` in scalar.ts. */
export function keepGroup(
  out: usize,
  group: u32,
  k0: i32,
  k1: i32,
  k2: i32,
  k3: i32,
  limit: i32,
  kept: f32,
): void {
  let a = i32x4.splat(k1), b = i32x4.splat(k2), c = i32x4.splat(k3);
  let d = i32x4.splat(0x1bd11bda ^ k0 ^ k1 ^ k2 ^ k3), e = i32x4.splat(k0);
  let x0 = i32x4.add(i32x4.add(i32x4.splat(4 * group), i32x4(0, 1, 2, 3)), e);
  let x1 = a, x2 = b, x3 = c;
  for (let round = 1; round <= 5; round++) {
    if ((round & 1) == 1) {
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 10), x0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 26), x2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 11), x0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 21), x2);
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 13), x0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 27), x2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 23), x0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 5), x2);
    } else {
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 6), x0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 20), x2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 17), x0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 11), x2);
      x0 = i32x4.add(x0, x1), x1 = v128.xor(rotated(x1, 25), x0);
      x2 = i32x4.add(x2, x3), x3 = v128.xor(rotated(x3, 10), x2);
      x0 = i32x4.add(x0, x3), x3 = v128.xor(rotated(x3, 18), x0);
      x2 = i32x4.add(x2, x1), x1 = v128.xor(rotated(x1, 20), x2);
    }
    x0 = i32x4.add(x0, a), x1 = i32x4.add(x1, b), x2 = i32x4.add(x2, c);
    x3 = i32x4.add(i32x4.add(x3, d), i32x4.splat(round));
    const first = a;
    a = b, b = c, c = d, d = e, e = first;
  }
  const low = i32x4.splat(0xffff), limits = i32x4.splat(limit), all = f32x4.splat(kept);
  v128.store(out, factor(v128.and(x0, low), limits, all));
  v128.store(out, factor(v128.and(x1, low), limits, all), 16);
  v128.store(out, factor(v128.and(x2, low), limits, all), 32);
  v128.store(out, factor(v128.and(x3, low), limits, all), 48);
  v128.store(out, factor(i32x4.shr_u(x0, 16), limits, all), 64);
  v128.store(out, factor(i32x4.shr_u(x1, 16), limits, all), 80);
  v128.store(out, factor(i32x4.shr_u(x2, 16), limits, all), 96);
  v128.store(out, factor(i32x4.shr_u(x3, 16), limits, all), 112);
}

/**
 * The factors of `count` elements from element `from` on. Whole groups are written where they belong;
 * of the first and the last, the part that is wanted, by way of 128 bytes at `spare`.
 */
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
  spare: usize,
): void {
  for (const end = from + count; from < end;) {
    const group = from >> 5, first = from & 31, wanted = min<u32>(32 - first, end - from);
    if (wanted == 32) {
      keepGroup(out, group, k0, k1, k2, k3, limit, kept);
    } else {
      keepGroup(spare, group, k0, k1, k2, k3, limit, kept);
      memory.copy(out, spare + 4 * first, 4 * wanted);
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
  spare: usize,
): void {
  for (const end = from + count; from < end;) {
    const first = from & 31, wanted = min<u32>(32 - first, end - from);
    keepGroup(spare, from >> 5, k0, k1, k2, k3, limit, kept);
    const factors = spare + 4 * first;
    if (wanted == 32) {
      for (let at = 0; at < 128; at += 16) {
        const dropped = f32x4.mul(v128.load(h + at), v128.load(factors + at));
        v128.store(y + at, f32x4.add(v128.load(x + at), dropped));
      }
    } else {
      for (let at: u32 = 0; at < 4 * wanted; at += 4) {
        f32.store(y + at, f32.load(x + at) + f32.load(h + at) * f32.load(factors + at));
      }
    }
    x += 4 * wanted, h += 4 * wanted, y += 4 * wanted, from += wanted;
  }
}

/** A step of Adam, in doubles, two numbers at a time; as scalar.ts has it. */

/** One number, or two side by side, as doubles. */
function read(at: usize, one: bool): v128 {
  return f64x2.promote_low_f32x4(one ? v128.load32_zero(at) : v128.load64_zero(at));
}

/** One double, or two, as numbers. */
function write(at: usize, x: v128, one: bool): void {
  const numbers = f32x4.demote_f64x2_zero(x);
  if (one) v128.store_lane<f32>(at, numbers, 0);
  else v128.store64_lane(at, numbers, 0);
}

function step(
  p: usize,
  g: usize,
  m: usize,
  v: usize,
  coupled: f64,
  shrink: f64,
  beta1: f64,
  beta2: f64,
  size: f64,
  correction: f64,
  epsilon: f64,
  one: bool,
): void {
  const weight = read(p, one);
  const d = f64x2.add(read(g, one), f64x2.mul(f64x2.splat(coupled), weight));
  const first = f64x2.add(
    f64x2.mul(f64x2.splat(beta1), read(m, one)),
    f64x2.mul(f64x2.splat(1 - beta1), d),
  );
  const second = f64x2.add(
    f64x2.mul(f64x2.splat(beta2), read(v, one)),
    f64x2.mul(f64x2.mul(f64x2.splat(1 - beta2), d), d),
  );
  write(m, first, one);
  write(v, second, one);
  const root = f64x2.div(f64x2.sqrt(second), f64x2.splat(correction));
  const change = f64x2.div(
    f64x2.mul(f64x2.splat(size), first),
    f64x2.add(root, f64x2.splat(epsilon)),
  );
  write(p, f64x2.sub(f64x2.mul(f64x2.splat(shrink), weight), change), one);
}

/** Changes `count` weights p and their moments m and v, given their gradient g. */
export function adam(
  p: usize,
  g: usize,
  m: usize,
  v: usize,
  count: i32,
  coupled: f64,
  shrink: f64,
  beta1: f64,
  beta2: f64,
  size: f64,
  correction: f64,
  epsilon: f64,
): void {
  for (const end = p + 8 * (count >> 1); p < end; p += 8, g += 8, m += 8, v += 8) {
    step(p, g, m, v, coupled, shrink, beta1, beta2, size, correction, epsilon, false);
  }
  if ((count & 1) == 0) return;
  step(p, g, m, v, coupled, shrink, beta1, beta2, size, correction, epsilon, true);
}

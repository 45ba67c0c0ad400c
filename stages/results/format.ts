/**
 * Numbers as people read them. `toFixed` rounds the exact binary value, so texts are the same
 * everywhere.
 *
 * @module
 */

/** Minus sign U+2212, as wide as a plus. */
const MINUS = "\u2212";
const THIN = "\u202f";

/** A fraction in percent, without the sign: 0.9115 is `91.15`. */
export function percent(fraction: number, digits = 2): string {
  return fixed(fraction * 100, digits);
}

/** A difference of fractions in percentage points, always signed: 0.0651 is `+6.51`. */
export function points(fraction: number, digits = 2): string {
  const text = fixed(fraction * 100, digits);
  return text.startsWith(MINUS) || /^[0.]+$/.test(text) ? text : `+${text}`;
}

/** A decimal with a real minus sign and no negative zero. */
export function fixed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  if (!text.startsWith("-")) return text;
  return /^-[0.]+$/.test(text) ? text.slice(1) : MINUS + text.slice(1);
}

/** A count with thin spaces between groups of three digits: `25 000`. */
export function grouped(count: number): string {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
}

/** An interval of differences in points: `[−1.20, +3.40]`. */
export function pointsInterval(interval: readonly [number, number], digits = 2): string {
  return `[${points(interval[0], digits)}, ${points(interval[1], digits)}]`;
}

/** `1 seed`, `5 seeds`. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Numbers as people read them. `toFixed` rounds the exact binary value, so texts are the same
 * everywhere.
 *
 * @module
 */
import { printedDigits } from "../printed.ts";
import type { Metric } from "../spec/axes.ts";
import type { PublishedValue } from "../study.ts";

/** Minus sign U+2212, as wide as a plus. */
const MINUS = "\u2212";
const THIN = "\u202f";
/** A space at which no line ends. */
const FIRM = "\u00a0";
/** Where there is nothing to show. */
export const NONE = "–";

/** A decimal with a real minus sign, no negative zero, and thin spaces between groups of three. */
export function decimal(value: number, digits = 0): string {
  const text = value.toFixed(digits);
  const [whole, fraction] = text.replace("-", "").split(".");
  const grouped = whole!.replace(/\B(?=(\d{3})+(?!\d))/g, THIN);
  const size = fraction === undefined ? grouped : `${grouped}.${fraction}`;
  return text.startsWith("-") && /[1-9]/.test(text) ? MINUS + size : size;
}

/** A change, signed unless it is zero: `+6.51`. */
export function signed(value: number, digits: number): string {
  const text = decimal(value, digits);
  return text.startsWith(MINUS) || !/[1-9]/.test(text) ? text : `+${text}`;
}

/** `[91.0, 92.3]`, or of changes `[−1.20, +3.40]`. */
export function intervalText(
  [low, high]: readonly [number, number],
  show: (bound: number) => string,
): string {
  return `[${show(low)}, ${show(high)}]`;
}

/** `2–5`, or `2` if both are shown alike. */
export function rangeText(min: string, max: string): string {
  if (min === max) return min;
  return min.startsWith(MINUS) ? `${min} to ${max}` : `${min}–${max}`;
}

/** A p-value, `0.0104` or `< 0.0001`. */
export function probability(p: number | null): string {
  if (p === null) return NONE;
  return p < 0.0001 ? "< 0.0001" : p.toFixed(4);
}

/** A share in whole percent: 0.14 is `14 %`. */
export function percent(share: number, digits = 0): string {
  return `${decimal(100 * share, digits)} %`;
}

/** `1 seed`, `5 seeds`. */
export function counted(count: number, noun: string): string {
  return `${decimal(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `n = 5`, or `n = 3–5` where counts differ, on one line. */
export function countText(counts: readonly number[]): string {
  const [min, max] = [Math.min(...counts), Math.max(...counts)];
  return ["n", "=", rangeText(decimal(min), decimal(max))].join(FIRM);
}

/** A title with its unit, as a column's head: `Accuracy, %`. */
export function withUnit(title: string, unit: string): string {
  const text = unit === "percent" ? "%" : unit;
  return text === "" ? title : `${title}, ${text}`;
}

/** What changes of a metric are counted in: percent of ratios, points of differences of percent. */
export function changeUnit(metric: Metric): string {
  if (metric.change === "ratio") return "%";
  return metric.unit === "percent" || metric.unit === "%" ? "points" : metric.unit;
}

/** `59.22 ± 1.07`, `about 62` or `lowest`. */
export function printedText({ value, spread, words, rounding }: PublishedValue): string {
  const digits = printedDigits(rounding);
  const number = value === null ? [] : [decimal(value, digits)];
  const text = [words, ...number].filter((part) => part !== "").join(" ");
  return spread === null ? text : `${text} ± ${decimal(spread, digits)}`;
}

/** With its first letter a capital. */
export function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

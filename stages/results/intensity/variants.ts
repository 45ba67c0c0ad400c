/**
 * The paper's runs as variants of one model: their order, their names.
 *
 * @module
 */
import { compareText } from "../order.ts";

/** The variant that all others are paired with: the model without intensity. */
export const BASELINE = "0";

const METHODS: Readonly<Record<string, string>> = {
  "0": "Baseline",
  "1": "Content, [0.1, 1]",
  "2": "Content, [0.5, 1]",
  "3": "Position-aware",
  "4": "Position-aware, per head",
};

/** A variant's name where the grid gives none: `4`, or `4_bypass`. */
export function variantName({ run, bypass }: { run: number; bypass: boolean }): string {
  return bypass ? `${run}_bypass` : String(run);
}

/** By run, then modulated before bypassed, then by name. */
export function compareVariants(a: string, b: string): number {
  return compareText(a, b);
}

/** `4_bypass` as people read it: `Position-aware, per head, bypassed (run 4)`. */
export function variantTitle(variant: string): string {
  const { run, bypass } = variantOf(variant);
  const method = METHODS[run];
  if (method === undefined) return variant;
  return `${method}${bypass ? ", bypassed" : ""} (run ${run})`;
}

/** `4_bypass` in two words: `Run 4, bypassed`. */
export function variantLabel(variant: string): string {
  const { run, bypass } = variantOf(variant);
  return METHODS[run] === undefined ? variant : `Run ${run}${bypass ? ", bypassed" : ""}`;
}

/** Whether the variant's predictors are left out of the attention. */
export function isBypassed(variant: string): boolean {
  return variantOf(variant).bypass;
}

function variantOf(variant: string): { run: string; bypass: boolean } {
  return { run: variant.replace(/_bypass$/, ""), bypass: variant.endsWith("_bypass") };
}

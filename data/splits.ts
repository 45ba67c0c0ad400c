/**
 * The parts of a corpus.
 *
 * @module
 */

/** Splits in the order in which they are read and written. */
export const splitNames = ["train", "validation", "test"] as const;
export type SplitName = typeof splitNames[number];

/** A split's place in their order; documents that are to be drawn, `all`, come last. */
export function splitOrder(split: SplitName | "all"): number {
  return split === "all" ? splitNames.length : splitNames.indexOf(split);
}

/**
 * What a comparison claims, as intervals of one mean: every test but that of signs asks whether the
 * mean lies within one interval, and refutes by showing it outside another.
 *
 * @module
 */
import type { Metric } from "../spec/axes.ts";
import type { Comparison } from "../spec/claims.ts";
import { shownChange, testedChange } from "../study.ts";

/** Ends of an interval; either may be infinite. */
export type Bounds = readonly [low: number, high: number];

/** What is asked of one comparison; all sizes on the scale that changes are averaged on. */
export interface Question {
  readonly test: Comparison["test"];
  /** Sign of what is claimed. */
  readonly toward: 1 | -1;
  /** Shown if the mean is shown within. */
  readonly claimed: Bounds;
  /** Refuted if the mean is shown outside. */
  readonly kept: Bounds;
  /** Differences that do not matter, where the paper's own is one of them. */
  readonly same: Bounds | null;
  /** Means that count as the printed one. */
  readonly near: Bounds;
  /** The effect if the paper is exactly right; null if nothing says. */
  readonly effect: number | null;
}

/**
 * The question that a comparison asks.
 *
 * @param printed What the paper prints for it, as shown.
 * @throws {RangeError} If its test needs a size that it does not have.
 */
export function questionOf(
  comparison: Comparison,
  { metric, printed }: { readonly metric: Metric; readonly printed: number | null },
): Question {
  const { test, smallest, tolerance, bounds } = comparison;
  const { tested } = scaleOf(comparison, metric);
  const toward = comparison.direction === "greater" ? 1 : -1;
  const margins: Bounds = smallest === null
    ? [-Infinity, Infinity]
    : [tested(-smallest), tested(smallest)];
  const common = {
    test,
    toward,
    same: null,
    near: printed === null || tolerance === null
      ? [-Infinity, Infinity] as const
      : [tested(printed - tolerance), tested(printed + tolerance)] as const,
  } as const;
  const expected = printed === null ? null : tested(printed);
  const from = (least: number): Bounds => toward > 0 ? [least, Infinity] : [-Infinity, least];
  switch (test) {
    case "sign":
    case "difference": {
      const least = smallest === null ? null : tested(toward * smallest);
      const small = smallest !== null && printed !== null && printed * toward < smallest;
      const tiny = small && printed > -smallest && printed < smallest;
      return {
        ...common,
        claimed: from(0),
        kept: from(small || least === null ? 0 : least),
        same: tiny && test === "difference" ? margins : null,
        effect: expected ?? least,
      };
    }
    case "equivalence":
    case "noninferiority": {
      if (smallest === null) {
        throw new RangeError(`questionOf: the test ${test} needs smallest, found none`);
      }
      const claimed = test === "equivalence" ? margins : from(margins[toward > 0 ? 0 : 1]);
      return { ...common, claimed, kept: claimed, effect: expected ?? 0 };
    }
    case "within": {
      if (bounds === null || !(bounds[0] < bounds[1])) {
        throw new RangeError(
          `questionOf: the test within needs bounds in order, found ${JSON.stringify(bounds)}`,
        );
      }
      const claimed: Bounds = [tested(bounds[0]), tested(bounds[1])];
      return {
        ...common,
        claimed,
        kept: claimed,
        effect: expected ?? (claimed[0] + claimed[1]) / 2,
      };
    }
  }
}

/** From a comparison's sizes as shown to the scale that is tested, and back. */
export function scaleOf(
  { against }: Pick<Comparison, "against">,
  metric: Metric,
): { readonly tested: (shown: number) => number; readonly shown: (tested: number) => number } {
  if (against === null || metric.change !== "ratio") return { tested: (x) => x, shown: (x) => x };
  return {
    // A ratio cannot fall by more than all of it.
    tested: (shown) => testedChange(metric, Math.max(-100, shown)),
    shown: (tested) => shownChange(metric, tested),
  };
}

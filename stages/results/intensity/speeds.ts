/**
 * How fast the variants write text, and what that says of the paper's claims.
 *
 * @module
 */
import type { Located } from "../inputs.ts";
import { compareText } from "../order.ts";
import { alphaOf, sum } from "../../../analysis/statistics/sample.ts";
import { type AssembleOptions, type Place, placeOf } from "./assemble.ts";
import type { Comparison } from "./claim.ts";
import type { Speed } from "./inputs.ts";
import { type Differences, judge } from "./judge.ts";
import type { Condition, Speeds } from "./results.ts";
import { BASELINE, compareVariants } from "./variants.ts";

interface Timed extends Place {
  readonly plain: number | undefined;
  readonly cached: number | undefined;
  readonly sha256: string;
}

/**
 * Builds the speeds document. Changes are taken between runs on the same text and seed.
 *
 * Claims are judged by models of the paper's size alone: in a small one the predictors weigh more.
 *
 * @param options.conditions Those of the results.
 */
export function assembleSpeeds(
  speeds: readonly Located<Speed>[],
  options: Omit<AssembleOptions, "experiment"> & { readonly conditions: readonly Condition[] },
): Speeds {
  const timed = speeds.map((each): Timed => {
    const rate = (cache: boolean) =>
      each.value.speeds.find((speed) => speed.cache === cache)?.tokensPerSecond;
    return { ...placeOf(each), plain: rate(false), cached: rate(true), sha256: each.sha256 };
  }).sort((a, b) =>
    compareText(a.dataset, b.dataset) || compareVariants(a.variant, b.variant) || a.seed - b.seed
  );
  const evidence = timed.filter((each) =>
    options.conditions.some(({ dataset, variant, fullSize }) =>
      fullSize && dataset === each.dataset && variant === each.variant
    )
  );
  const variants = [...new Set(timed.map((each) => each.variant))].sort(compareVariants);
  return {
    format: "lockstep-intensity-speeds/1",
    variants: variants.map((variant) => {
      const own = timed.filter((each) => each.variant === variant);
      const changes = changesOf(timed, { run: variant, against: BASELINE });
      return {
        variant,
        plain: meanOf(own.map((each) => each.plain)),
        cached: meanOf(own.map((each) => each.cached)),
        runs: own.length,
        change: variant === BASELINE ? null : meanOf(changes),
        // A small model's speed is compared with no other.
        published: own.some((each) => evidence.includes(each))
          ? options.published.speeds[variant] ?? null
          : null,
      };
    }),
    runs: timed.map(({ dataset, variant, seed, plain, cached, sha256 }) => ({
      dataset,
      variant,
      seed,
      plain: plain ?? null,
      cached: cached ?? null,
      sha256,
    })),
    claims: judge(options.claims.filter((claim) => claim.metric === "speed"), {
      alpha: alphaOf(options.confidence),
      differences: (comparison) => speedDifferences(evidence, comparison),
    }),
  };
}

function speedDifferences(timed: readonly Timed[], comparison: Comparison): Differences {
  const values = changesOf(timed, comparison);
  const on = values.length === 0 ? "" : "this machine, without a cache";
  // Models of another size are left out before.
  return { values, on, asPaper: values.length > 0 };
}

/** Percent by which a variant's speed without a cache differs from another's. */
function changesOf(
  timed: readonly Timed[],
  { run, against }: { run: string; against: string },
): number[] {
  return timed.filter((each) => each.variant === run).flatMap(({ dataset, seed, plain }) => {
    const other = timed.find((each) =>
      each.variant === against && each.dataset === dataset && each.seed === seed
    )?.plain;
    return plain === undefined || other === undefined ? [] : [100 * (plain / other - 1)];
  });
}

function meanOf(values: readonly (number | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? null : sum(known) / known.length;
}

/**
 * Which conclusions hang on what a paper leaves open: claims' comparisons, judged once for each value of
 * an axis whose values are ways to read it.
 *
 * @module
 */
import type { Claim, Comparison } from "../spec/claims.ts";
import { alphaOf, summarize } from "../statistics/sample.ts";
import { axisOf, changesOf, keyOf, metricOf, partsOf, rowsAt, type Study } from "../study.ts";
import type { At } from "../tidy/table.ts";
import { type Asked, askedBy } from "./expected.ts";
import { compare, comparisonText } from "./judge.ts";
import { isSyntheticAlone, type JudgedComparison, type Verdict } from "./judged.ts";
import { scaleOf } from "./question.ts";

/** What a comparison is under one choice. Sizes are as shown. */
export interface Reading {
  /** Ids of the claims that it is part of. */
  readonly claims: readonly string[];
  /** What is compared, without the choice. */
  readonly text: string;
  readonly choice: string;
  readonly judged: JudgedComparison;
  /** Of other choices than the default: how far the effect moves from there, paired by seed. */
  readonly moved: Moved | null;
}

/** How a conclusion differs from that under the default choice. */
export interface Moved {
  readonly n: number;
  readonly mean: number | null;
  readonly interval: readonly [number, number] | null;
  readonly sign: boolean;
  /** Whether the effect moves further than chance may: its interval leaves out zero. */
  readonly resolved: boolean;
  /** The verdict of the comparison alone as it was, if it is another now. */
  readonly from: Verdict | null;
}

/** What is read in several ways. */
export interface Sensitivity {
  readonly axis: string;
  readonly readings: readonly Reading[];
  /** How many conclusions have no reading, and how many of these since what ran is synthetic data. */
  readonly unread: { readonly all: number; readonly synthetic: number };
}

/**
 * Judges each comparison of the claims under every choice that one of its conditions was run with. A
 * condition that lacks a choice is taken from the default: the choice is none for it.
 */
export function sensitivityOf(
  study: Study,
  { axis, claims }: { readonly axis: string; readonly claims: readonly Claim[] },
): Sensitivity {
  const { baseline = null, values = [] } = axisOf(study, axis) ?? {};
  const unread = { all: 0, synthetic: 0 };
  if (baseline === null) return { axis, readings: [], unread };
  const others = values.map(({ value }) => value).filter((value) => value !== baseline);
  const { published, metrics } = study;
  const all = claims.flatMap((claim) =>
    askedBy(claim, { published, metrics, seedAxis: study.seeds }).map((asked) => ({
      claim,
      asked: { ...asked, comparison: asRun(study, asked.comparison) },
    }))
  );
  const groups = Map.groupBy(all, ({ asked: { comparison } }) => questionKey(comparison));
  const readings = [...groups.values()].flatMap((group): Reading[] => {
    const [{ claim, asked }] = group as [typeof all[number]];
    const read = (comparison: Comparison) => judge(study, { claim, asked, comparison });
    const usual = under(study, asked.comparison, { axis, choice: baseline, baseline });
    const first = usual === null ? null : read(usual);
    if (usual === null || first === null || first.outcome.n === 0) {
      unread.all++;
      if (first !== null && isSyntheticAlone(first)) unread.synthetic++;
      return [];
    }
    const common = {
      claims: [...new Set(group.map((each) => each.claim.id))],
      text: comparisonText(study, asked.comparison),
    };
    return [
      { ...common, choice: baseline, judged: first, moved: null },
      ...others.flatMap((choice): Reading[] => {
        const other = under(study, asked.comparison, { axis, choice, baseline });
        const judged = other === null ? null : read(other);
        if (other === null || judged === null || judged.outcome.n === 0) return [];
        const moved = movedBy(study, { judged, first });
        return [{ ...common, choice, judged, moved }];
      }),
    ];
  });
  return { axis, readings, unread };
}

/** A comparison whose averages are over what was run: a study of choices is of part of a grid. */
function asRun(study: Study, comparison: Comparison): Comparison {
  const table = study.tidy[metricOf(study, comparison.metric).table];
  const found = Object.entries(comparison.over).map(([axis, values]) =>
    [axis, values.filter((value) => rowsAt(table, { [axis]: value }).length > 0)] as const
  );
  const single = found.filter(([, values]) => values.length === 1);
  return {
    ...comparison,
    at: {
      ...comparison.at,
      ...Object.fromEntries(single.map(([axis, [value]]) => [axis, value!])),
    },
    over: Object.fromEntries(found.filter(([, values]) => values.length !== 1)),
  };
}

/** What a comparison asks, whichever claim asks it: of two alike one is read. */
function questionKey({ metric, at, against, than, over, test, smallest }: Comparison): string {
  const parts = [at, against, than].map((each) => each === null ? null : keyOf(each));
  return JSON.stringify([metric, parts, Object.entries(over).sort(), test, smallest]);
}

/**
 * A comparison under a choice; `null` if none of its conditions was run with it.
 *
 * Each side is taken with the choice where all of it was run so, else as by default.
 */
function under(
  study: Study,
  comparison: Comparison,
  { axis, choice, baseline }: { axis: string; choice: string; baseline: string },
): Comparison | null {
  const table = study.tidy[metricOf(study, comparison.metric).table];
  const ran = (at: At) => rowsAt(table, { ...at, [axis]: choice }).length > 0;
  const parts = partsOf(comparison);
  const plus = parts.every(({ place }) => ran(place));
  const minus = parts.every(({ minus }) => minus !== null && ran(minus));
  if (!plus && !minus) return null;
  const own = plus ? choice : baseline;
  return {
    ...comparison,
    at: { ...comparison.at, [axis]: own },
    against: comparison.against === null || plus === minus
      ? comparison.against
      : { ...comparison.against, [axis]: minus ? choice : baseline },
  };
}

function judge(study: Study, { claim, asked, comparison }: {
  claim: Claim;
  asked: Asked;
  comparison: Comparison;
}): JudgedComparison {
  const alpha = alphaOf(study.confidence);
  return compare(study, { claim, asked: { ...asked, comparison }, alpha, family: 1 }).comparison;
}

function movedBy(
  study: Study,
  { judged, first }: { judged: JudgedComparison; first: JudgedComparison },
): Moved {
  const { comparison } = judged;
  const before = new Map(
    changesOf(study, first.comparison).map(({ seed, value }) => [seed, value]),
  );
  const sample = changesOf(study, comparison).flatMap(({ seed, value }) =>
    before.has(seed) ? [value - before.get(seed)!] : []
  );
  const { shown } = scaleOf(comparison, metricOf(study, comparison.metric));
  const summary = sample.length === 0 ? null : summarize(sample, study.confidence);
  const interval = summary?.interval ?? null;
  const [is, was] = [judged, first].map(({ outcome }) => Math.sign(outcome.mean ?? 0));
  return {
    n: sample.length,
    mean: summary && shown(summary.mean),
    interval: interval && [shown(interval[0]), shown(interval[1])],
    sign: comparison.against !== null && is !== was,
    resolved: interval !== null && (interval[0] > 0 || interval[1] < 0),
    from: judged.verdict === first.verdict ? null : first.verdict,
  };
}

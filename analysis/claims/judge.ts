/**
 * Judges all claims of an experiment by its runs.
 *
 * @module
 */
import type { Claim, Comparison } from "../spec/claims.ts";
import { bootstrapInterval } from "../statistics/bootstrap.ts";
import { signedRankTest } from "../statistics/hypothesis_tests.ts";
import { alphaOf, countSigns, summarize } from "../statistics/sample.ts";
import { provenanceOf } from "../provenance.ts";
import {
  axisOf,
  changesOf,
  cutOff,
  metricOf,
  partsOf,
  placeText,
  type Study,
  titleOf,
} from "../study.ts";
import type { At } from "../tidy/table.ts";
import { chancesOf } from "./chances.ts";
import { type Evidence, evidenceOf } from "./evidence.ts";
import { type Asked, askedBy, type Prints } from "./expected.ts";
import type { JudgedClaim, JudgedComparison, Outcome, Verdict } from "./judged.ts";
import { scaleOf } from "./question.ts";
import { familyOf, ruleOn, ruleOnAll } from "./ruling.ts";
import { seedsFor } from "./seeds.ts";

/**
 * Judges claims, see {@linkcode ruleOnAll}.
 *
 * @param options.elsewhere How many other claims of the paper are judged elsewhere, by other runs.
 * @throws {RangeError} If a comparison lacks what its test needs.
 */
export function judgeClaims(
  study: Study,
  claims: readonly Claim[],
  { elsewhere = 0 }: { readonly elsewhere?: number } = {},
): JudgedClaim[] {
  const { published, metrics } = study;
  const prints: Prints = { published, metrics, seedAxis: study.seeds };
  const alpha = alphaOf(study.confidence);
  const found = claims.map((claim) => {
    const family = familyOf(claims, claim.source, elsewhere);
    return askedBy(claim, prints).map((asked) => compare(study, { claim, asked, alpha, family }));
  });
  const seeds = axisOf(study, study.seeds)?.values.map(({ value }) => value) ?? [];
  const chances = seeds.length === 0 ? [] : chancesOf(claims, {
    ...prints,
    seeds: seeds.length,
    seedsOf: (claim, each) => found[claim]![each]!.seeds.map((seed) => seeds.indexOf(seed)),
    confidence: study.confidence,
    elsewhere,
  });
  const evidence = found.map((each) => each.map(({ evidence }) => evidence));
  const rulings = ruleOnAll(claims, evidence, { alpha, elsewhere });
  return claims.map(({ id, statement, source, note = "" }, index): JudgedClaim => {
    const comparisons = found[index]!.map(({ comparison }) => comparison);
    const { verdict, p, against } = rulings[index]!;
    const asPaper = comparisons.every((each) => each.asPaper);
    return {
      ...{ id, statement, source, note, verdict },
      holds: source === "own" || asPaper ? holds(verdict) : null,
      ...{ p, against, comparisons },
      chances: chances[index] ?? null,
    };
  });
}

/** Whether a verdict says that the claim holds; null if it is open. */
function holds(verdict: Verdict): boolean | null {
  switch (verdict) {
    case "reproduced":
    case "direction only":
      return true;
    case "contradicted":
      return false;
    // As the paper's own number says, a difference that does not matter; its sign is open.
    case "equivalent":
    case "underpowered":
    case "not run":
      return null;
  }
}

/** One comparison with its evidence, as part of a family of claims. */
export function compare(study: Study, { claim, asked, alpha, family }: {
  claim: Claim;
  asked: Asked;
  alpha: number;
  family: number;
}): {
  readonly comparison: JudgedComparison;
  readonly evidence: Evidence;
  /** Those that have all of its runs. */
  readonly seeds: readonly string[];
} {
  const { comparison } = asked;
  const provenance = partsOf(comparison)
    .flatMap(({ place, minus }) => minus === null ? [place] : [place, minus])
    .map((at) => provenanceOf(study, at));
  // Synthetic data has a truth of its own, which is no evidence for what a paper found.
  const counts = claim.source === "own" || provenance.every(({ kind }) => kind !== "synthetic");
  const found = changesOf(study, comparison);
  const changes = counts ? found : [];
  const sample = changes.map(({ value }) => value);
  const evidence = evidenceOf(sample, asked.question);
  return {
    evidence,
    seeds: changes.map(({ seed }) => seed),
    comparison: {
      comparison,
      text: comparisonText(study, comparison),
      printed: asked.printed,
      provenance: found.length === 0
        ? ""
        : [...new Set(provenance.map(({ text }) => text))].join("; "),
      asPaper: sample.length > 0 && provenance.every((each) => each.asPaper),
      outcome: outcomeOf(sample, { study, asked, evidence, alpha: alpha / family }),
      verdict: ruleOn([[evidence]], { alpha, family: 1 })[0]!.verdict,
    },
  };
}

const TESTS = {
  difference: "one-sided t",
  sign: "exact sign test",
  equivalence: "two one-sided t",
  noninferiority: "one-sided t against the margin",
  within: "two one-sided t",
} as const;

function outcomeOf(sample: readonly number[], { study, asked, evidence, alpha }: {
  study: Study;
  asked: Asked;
  evidence: Evidence;
  /** The level that decides where a claim fares worst. */
  alpha: number;
}): Outcome {
  const { comparison, question } = asked;
  const metric = metricOf(study, comparison.metric);
  const { shown } = scaleOf(comparison, metric);
  const shownInterval = (interval: readonly [number, number] | null) => {
    const ends = interval && [shown(interval[0]), shown(interval[1])] as const;
    return ends && comparison.against === null ? cutOff(metric, ends) : ends;
  };
  const { confidence } = study;
  const summary = sample.length === 0 ? null : summarize(sample, confidence);
  const signed = question.test === "difference" || question.test === "sign";
  return {
    n: sample.length,
    mean: summary && shown(summary.mean),
    sd: summary === null || summary.sd === null ? null : shown(summary.sd),
    interval: shownInterval(summary && summary.interval),
    bootstrap: shownInterval(bootstrapInterval(sample, { confidence })),
    ...countSigns(sample),
    test: TESTS[question.test],
    p: evidence.for,
    against: evidence.against,
    signedRankP: signed && sample.some((value) => value !== 0)
      ? signedRankTest(sample, comparison.direction)
      : null,
    seedsNeeded: seedsFor(question, { sd: summary?.sd || asked.sd, alpha }),
  };
}

/**
 * A comparison as people read it: `Rye, oven two: Steamed − Dry`.
 *
 * @param options As {@linkcode placeText} takes them.
 */
export function comparisonText(
  study: Study,
  comparison: Comparison,
  options: { readonly all?: boolean } = {},
): string {
  const { at, against, than, over } = comparison;
  const name = (of: At) =>
    Object.keys(against ?? {}).map((axis) => titleOf(study, axis, of[axis] ?? "")).join(", ");
  const means = Object.entries(over).map(([axis, values]) =>
    `mean of ${values.map((value) => titleOf(study, axis, value)).join(", ")}`
  );
  const minus = metricOf(study, comparison.metric).change === "ratio" ? " / " : " − ";
  const one = (of: At) => {
    const rest = Object.entries(of).filter(([axis]) => against?.[axis] === undefined);
    const place = [placeText(study, Object.fromEntries(rest), options), ...means].filter(Boolean)
      .join(", ");
    if (against === null) return place;
    return [place, name(of) + minus + name({ ...of, ...against })].filter(Boolean).join(": ");
  };
  return one(at) + (than === null ? "" : `, less the same of ${one({ ...at, ...than })}`);
}

/**
 * Judges all claims of an experiment by its results.
 *
 * @module
 */
import type { Condition, DatasetEntry } from "../results.ts";
import { holm } from "../../../analysis/statistics/holm.ts";
import type { Claim, Comparison, JudgedClaim, JudgedComparison, Verdict } from "./claim.ts";
import { decide, holds, measure, type Question } from "./verdict.ts";

/** One operator against another on a dataset, with an encoding. */
export type Contrast = Pick<Comparison, "dataset" | "encoding" | "operator" | "against">;

/** What a judgement rests on. */
export interface Evidence {
  readonly datasets: readonly DatasetEntry[];
  readonly alpha: number;
  /** A contrast's differences by seed, fractions. */
  readonly differences: (contrast: Contrast) => ReadonlyMap<number, number>;
}

/** The claim's verdict from its comparisons': the first of these that occurs. */
const WORST_FIRST: readonly Verdict[] = [
  "contradicted",
  "not run",
  "underpowered",
  "equivalent",
  "direction only",
  "reproduced",
];

/**
 * Judges claims on one metric. Holm's correction runs over every comparison of every claim that
 * ran. Runs on synthetic data never count as evidence.
 */
export function judgeClaims(claims: readonly Claim[], evidence: Evidence): JudgedClaim[] {
  const pending = claims.flatMap((claim) =>
    claim.compare.map((comparison) => {
      const question = questionOf(claim, comparison, evidence.alpha);
      const differences = differencesOf(comparison, evidence);
      return { claim, comparison, question, differences, outcome: measure(differences, question) };
    })
  );
  const tested = pending.filter((each) => each.outcome.p !== null);
  const adjusted = holm(tested.map((each) => each.outcome.p!));
  const corrected = new Map(tested.map((each, index) => [each, adjusted[index]!]));
  return claims.map((claim) => {
    const comparisons = pending.filter((each) => each.claim === claim).map((each) => {
      const outcome = { ...each.outcome, holm: corrected.get(each) ?? null };
      const { comparison, question, differences } = each;
      return describe(comparison, evidence, {
        ...outcome,
        verdict: decide(outcome, differences, question),
      });
    });
    const verdict = verdictOf(comparisons);
    return {
      id: claim.id,
      statement: claim.statement,
      test: claim.test,
      metric: claim.metric,
      smallest: claim.smallest / 100,
      tolerance: claim.tolerance / 100,
      verdict,
      holds: holds(verdict, {
        test: claim.test,
        asPaper: comparisons.every((each) => isAsPaper(each, evidence)),
      }),
      note: noteOf(claim, comparisons),
      comparisons,
    };
  });
}

function verdictOf(comparisons: readonly JudgedComparison[]): Verdict {
  const found = new Set(comparisons.map((each) => each.verdict));
  return WORST_FIRST.find((verdict) => found.has(verdict)) ?? "not run";
}

function noteOf(claim: Claim, comparisons: readonly JudgedComparison[]): string {
  const idle = comparisons.filter((each) => each.verdict === "not run").length;
  if (comparisons.length === 0) return "No comparison is declared.";
  if (idle === comparisons.length) {
    return claim.metric === "latency"
      ? "No model of the paper's size was timed on its data."
      : "Its conditions were not run.";
  }
  return idle > 0 ? `${idle} of ${comparisons.length} comparisons were not run.` : "";
}

function questionOf(claim: Claim, comparison: Comparison, alpha: number): Question {
  return {
    test: claim.test,
    direction: comparison.direction,
    smallest: claim.smallest / 100,
    tolerance: claim.tolerance / 100,
    published: comparison.published === undefined ? null : comparison.published / 100,
    alpha,
  };
}

function secondOf(comparison: Comparison): Contrast | null {
  if (comparison.than === undefined) return null;
  const { dataset, encoding, operator, against } = comparison.than;
  return {
    dataset: dataset ?? comparison.dataset,
    encoding: encoding ?? comparison.encoding,
    operator: operator ?? comparison.operator,
    against: against ?? comparison.against,
  };
}

/** The comparison's differences, one per seed that all its conditions have. */
function differencesOf(comparison: Comparison, evidence: Evidence): number[] {
  const first = bySeed(comparison, evidence);
  const contrast = secondOf(comparison);
  if (contrast === null) return [...first.values()];
  const second = bySeed(contrast, evidence);
  return [...first].flatMap(([seed, value]) => {
    const other = second.get(seed);
    return other === undefined ? [] : [value - other];
  });
}

function bySeed(contrast: Contrast, evidence: Evidence): ReadonlyMap<number, number> {
  const entry = evidence.datasets.find((each) => each.dataset === contrast.dataset);
  return entry?.corpus?.source.kind === "synthetic" ? new Map() : evidence.differences(contrast);
}

/** Differences in accuracy, for {@linkcode Evidence}. */
export function accuracyDifferences(conditions: readonly Condition[]): Evidence["differences"] {
  return (contrast) => {
    const find = (operator: string) =>
      conditions.find((cell) =>
        cell.dataset === contrast.dataset && cell.encoding === contrast.encoding &&
        cell.operator === operator
      )?.runs ?? [];
    const base = find(contrast.against);
    const differences = new Map<number, number>();
    for (const run of find(contrast.operator)) {
      const partner = base.find((other) => other.seed === run.seed);
      if (partner === undefined || partner.documents !== run.documents) continue;
      differences.set(run.seed, (run.correct - partner.correct) / run.documents);
    }
    return differences;
  };
}

/** Whether all of the paper's data was used, with models of its size. */
function isAsPaper(
  { data, dataset, than }: Pick<JudgedComparison, "data" | "dataset" | "than">,
  { datasets }: Evidence,
): boolean {
  return data === "official" &&
    [dataset, than?.dataset].every((name) =>
      !datasets.find((entry) => entry.dataset === name)?.smaller
    );
}

function describe(
  comparison: Comparison,
  evidence: Evidence,
  found: Omit<JudgedComparison, keyof Contrast | "than" | "direction" | "published" | "data">,
): JudgedComparison {
  const { dataset, encoding, operator, against, direction, published } = comparison;
  const than = secondOf(comparison);
  const kinds = [dataset, ...than ? [than.dataset] : []].map((name) =>
    evidence.datasets.find((entry) => entry.dataset === name)?.corpus?.source.kind ?? "undescribed"
  );
  return {
    dataset,
    encoding,
    operator,
    against,
    than,
    direction,
    published: published === undefined ? null : published / 100,
    data: kinds.find((kind) => kind !== "official") ?? "official",
    ...found,
  };
}

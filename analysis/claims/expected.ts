/**
 * What a paper's printed numbers say of a comparison before anything is run.
 *
 * @module
 */
import { printedAt, printedChange, type Prints as Printed, seriesOf } from "../printed.ts";
import type { Claim, Comparison } from "../spec/claims.ts";
import { moments, sum } from "../statistics/sample.ts";
import { keyOf, type Part, partsOf, type PublishedValue } from "../study.ts";
import { type Question, questionOf, scaleOf } from "./question.ts";

/** Where printed numbers are looked up. */
export interface Prints extends Printed {
  /** The axis of replicates. */
  readonly seedAxis: string;
}

/** A condition that a comparison's changes are drawn from: equal keys, equal draws. */
export interface Term {
  readonly key: string;
  /** Its weight in the comparison times its standard deviation over seeds, as tested. */
  readonly scale: number;
}

/** A comparison with its question and what to expect of it. */
export interface Asked {
  readonly comparison: Comparison;
  readonly question: Question;
  /** What the paper prints for it, as shown. */
  readonly printed: number | null;
  /** Standard deviation over seeds, on the scale that is tested; null if nothing says. */
  readonly sd: number | null;
  /** How to draw it; empty without `sd`. */
  readonly terms: readonly Term[];
}

/** A claim's comparisons with what they ask. @throws {RangeError} If one lacks what its test needs. */
export function askedBy(claim: Claim, prints: Prints): Asked[] {
  return comparisonsOf(claim).map((comparison) => {
    const metric = prints.metrics[comparison.metric];
    if (metric === undefined) throw new RangeError(`askedBy: no metric "${comparison.metric}"`);
    const printed = printedOf(comparison, prints);
    const question = questionOf(comparison, { metric, printed });
    const terms = termsOf(comparison, prints);
    const sd = terms.length === 0 ? null : Math.sqrt(sum(terms.map(({ scale }) => scale * scale)));
    return { comparison, question, printed, sd, terms };
  });
}

/** A claim's comparisons, each with the claim's own values where it has none. */
export function comparisonsOf(claim: Claim): Comparison[] {
  return claim.compare.map((own) => ({
    metric: own.metric ?? claim.metric ?? "",
    at: { ...claim.at, ...own.at },
    against: own.against ?? claim.against ?? null,
    than: own.than ?? claim.than ?? null,
    over: { ...claim.over, ...own.over },
    test: own.test ?? claim.test ?? "difference",
    direction: own.direction ?? claim.direction ?? "greater",
    bounds: own.bounds ?? claim.bounds ?? null,
    smallest: own.smallest ?? claim.smallest ?? null,
    tolerance: own.tolerance ?? claim.tolerance ?? null,
    printed: own.printed ?? claim.printed ?? null,
    spread: own.spread ?? claim.spread ?? null,
  }));
}

/** What is printed for a comparison, as shown: as given, or from the source that it names. */
function printedOf(comparison: Comparison, prints: Prints): number | null {
  const { printed: source, metric, against } = comparison;
  if (typeof source !== "string") return source;
  const { shown, tested } = scaleOf(comparison, prints.metrics[metric]!);
  for (const { over, parts } of waysOf(comparison)) {
    const values = parts.map(({ place, weight }) => {
      const lookup = { metric, at: place, over, source };
      const { value } = (against === null
        ? printedAt(prints, lookup)
        : printedChange(prints, { ...lookup, against })) ?? {};
      return value == null ? null : weight * tested(value);
    }).filter((value) => value !== null);
    // Twelve digits hide what floats add to decimal numbers.
    if (values.length === parts.length) return Number(shown(sum(values)).toPrecision(12));
  }
  return null;
}

/** As what a source may print a comparison: averages as such, or the values that they are of. */
function waysOf(
  comparison: Comparison,
): { readonly over: Comparison["over"]; readonly parts: readonly Part[] }[] {
  return [
    { over: comparison.over, parts: partsOf({ ...comparison, over: {} }) },
    { over: {}, parts: partsOf(comparison) },
  ];
}

/**
 * The conditions that a comparison is drawn from: those that are printed with a spread; else its own,
 * with the spread of printed differences by seed, or that which the claim expects, shared out.
 */
function termsOf(comparison: Comparison, prints: Prints): Term[] {
  const sources = new Set(prints.published.map(({ source }) => source));
  const named = typeof comparison.printed === "string" ? [comparison.printed] : [];
  for (const source of [...named, ...sources]) {
    const terms = printedTerms(comparison, { source, prints });
    if (terms !== null) return terms;
  }
  const { tested } = scaleOf(comparison, prints.metrics[comparison.metric]!);
  const { spread } = comparison;
  const sd = seedsSpread(comparison, prints) ?? (spread === null ? null : tested(spread));
  if (sd === null) return [];
  const weights = weigh(partsOf(comparison), (at) => `${comparison.metric} ${keyOf(at)}`);
  const size = Math.sqrt(sum([...weights.values()].map((weight) => weight * weight)));
  return [...weights].map(([key, weight]) => ({ key, scale: sd * weight / size }));
}

/** How much each condition counts in the sum of some parts. */
function weigh<K>(parts: readonly Part[], keyAt: (at: Part["place"]) => K): Map<K, number> {
  const weights = new Map<K, number>();
  for (const { place, minus, weight } of parts) {
    for (const [at, by] of [[place, weight], [minus, -weight]] as const) {
      if (at !== null) weights.set(keyAt(at), (weights.get(keyAt(at)) ?? 0) + by);
    }
  }
  return weights;
}

/** Null unless a source prints all conditions with their spreads. */
function printedTerms(
  comparison: Comparison,
  { source, prints }: { readonly source: string; readonly prints: Prints },
): Term[] | null {
  const { metric, against } = comparison;
  const ratio = against !== null && prints.metrics[metric]!.change === "ratio";
  for (const { over, parts } of waysOf(comparison)) {
    const rows = [...weigh(parts, (at) => printedAt(prints, { metric, at, over, source }))];
    const known = rows.filter((row): row is [PublishedValue, number] =>
      row[0]?.value != null && row[0].spread !== null
    );
    if (known.length < rows.length) continue;
    return known.map(([{ at, spread, value }, weight]) => ({
      key: `${metric} ${keyOf(at)}`,
      scale: weight * spread! / (ratio ? value! : 1),
    }));
  }
  return null;
}

/** Standard deviation of the comparison's differences that a source prints seed by seed. */
function seedsSpread(comparison: Comparison, prints: Prints): number | null {
  const { metric, at, against, than, over } = comparison;
  if (against === null || than !== null || Object.keys(over).length > 0) return null;
  const { tested } = scaleOf(comparison, prints.metrics[metric]!);
  const found = seriesOf({ ...prints, seeds: prints.seedAxis }).find((each) =>
    each.metric === metric && each.values.length > 1 &&
    keyOf(each.against) === keyOf(against) &&
    Object.entries(each.at).every(([axis, value]) => at[axis] === value)
  );
  return found ? moments(found.values.map(tested)).sd || null : null;
}

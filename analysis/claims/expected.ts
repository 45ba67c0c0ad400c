/**
 * What a paper's printed numbers say of a comparison before anything is run.
 *
 * @module
 */
import { ln } from "../../models/portable_math.ts";
import type { Metrics } from "../spec/axes.ts";
import type { Claim, Comparison } from "../spec/claims.ts";
import { moments, sum } from "../statistics/sample.ts";
import { keyOf, type Part, partsOf, type PublishedValue } from "../study.ts";
import { type Question, questionOf, scaleOf } from "./question.ts";

/** Where printed numbers are looked up. */
export interface Prints {
  readonly published: readonly PublishedValue[];
  readonly metrics: Metrics;
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
export function printedOf(comparison: Comparison, prints: Prints): number | null {
  const { printed: source, metric: name } = comparison;
  if (typeof source !== "string") return source;
  const metric = prints.metrics[name]!;
  let total = 0;
  for (const part of partsOf(comparison)) {
    const value = meansOf(comparison, { part, source, prints })?.change ??
      directOf(comparison, { part, source, prints });
    if (value === null) return null;
    total += part.weight * value;
  }
  // Twelve digits hide what floats add to decimal numbers.
  return Number(scaleOf(comparison, metric).shown(total).toPrecision(12));
}

interface Lookup {
  readonly part: Part;
  readonly source: string | undefined;
  readonly prints: Prints;
}

/** A part's printed means, and its change on the scale that is averaged. */
function meansOf(
  { metric: name }: Comparison,
  { part: { place, minus }, source, prints }: Lookup,
): { readonly rows: readonly PublishedValue[]; readonly change: number } | null {
  const find = (at: Part["place"]) => printedAt(prints, { metric: name, at, source });
  const rows = [place, ...minus === null ? [] : [minus]].map(find);
  const found = rows.filter((row) => row !== undefined);
  if (found.length < rows.length) return null;
  const [first, second] = found.map(({ value }) => value!);
  if (second === undefined) return { rows: found, change: first! };
  const ratio = prints.metrics[name]!.change === "ratio";
  return { rows: found, change: ratio ? ln(first! / second) : first! - second };
}

/** A printed mean: of the rows whose coordinates are a condition's, that which names most of them. */
function printedAt(
  { published }: Prints,
  { metric, at, source }: {
    readonly metric: string;
    readonly at: Part["place"];
    readonly source: string | undefined;
  },
): PublishedValue | undefined {
  const named = ({ at }: PublishedValue) => Object.keys(at).length;
  const rows = published.filter((row) =>
    row.metric === metric && row.source === source && row.against === null && row.value !== null &&
    Object.entries(row.at).every(([axis, value]) => at[axis] === value)
  );
  return rows.toSorted((a, b) => named(b) - named(a))[0];
}

/** A part's difference where the source prints that itself, on the scale that is averaged. */
function directOf(comparison: Comparison, { part, source, prints }: Lookup): number | null {
  const row = prints.published.find((each) =>
    each.source === source && each.value !== null && each.at[prints.seedAxis] === undefined &&
    isOf(each, { part, metric: comparison.metric })
  );
  if (row === undefined) return null;
  return scaleOf(comparison, prints.metrics[comparison.metric]!).tested(row.value!);
}

/** Whether a printed difference is of a part, whatever its seed. */
function isOf(
  row: PublishedValue,
  { part: { place, minus }, metric, seedAxis }: {
    readonly part: Part;
    readonly metric: string;
    readonly seedAxis?: string;
  },
): boolean {
  if (row.metric !== metric || (row.against === null) !== (minus === null)) return false;
  return Object.entries(row.at).every(([axis, value]) =>
    axis === seedAxis || place[axis] === value
  ) && (minus === null || keyOf({ ...place, ...row.against }) === keyOf(minus));
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
  const sd = seedsSpread(comparison, prints) ?? expectedSpread(comparison, prints);
  if (sd === null) return [];
  const weights = new Map<string, number>();
  for (const { place, minus, weight } of partsOf(comparison)) {
    const add = (at: Part["place"], by: number) => {
      const key = `${comparison.metric} ${keyOf(at)}`;
      weights.set(key, (weights.get(key) ?? 0) + by);
    };
    add(place, weight);
    if (minus !== null) add(minus, -weight);
  }
  const size = Math.sqrt(sum([...weights.values()].map((weight) => weight * weight)));
  return [...weights].map(([key, weight]) => ({ key, scale: sd * weight / size }));
}

/** Null unless a source prints all conditions with their spreads. */
function printedTerms(
  comparison: Comparison,
  { source, prints }: Omit<Lookup, "part">,
): Term[] | null {
  const weights = new Map<PublishedValue, number>();
  for (const part of partsOf(comparison)) {
    const means = meansOf(comparison, { part, source, prints });
    if (means === null) return null;
    means.rows.forEach((row, index) => {
      weights.set(row, (weights.get(row) ?? 0) + (index === 0 ? part.weight : -part.weight));
    });
  }
  const ratio = comparison.against !== null &&
    prints.metrics[comparison.metric]!.change === "ratio";
  if ([...weights.keys()].some(({ spread }) => spread === null)) return null;
  return [...weights].map(([row, weight]) => ({
    key: `${row.metric} ${keyOf(row.at)}`,
    scale: weight * row.spread! / (ratio ? row.value! : 1),
  }));
}

/** Standard deviation of the comparison's differences that a source prints seed by seed. */
function seedsSpread(comparison: Comparison, prints: Prints): number | null {
  const [part, ...others] = partsOf(comparison);
  if (part === undefined || others.length > 0) return null;
  const { tested } = scaleOf(comparison, prints.metrics[comparison.metric]!);
  const { metric } = comparison;
  const rows = prints.published.filter((row) =>
    row.value !== null && row.at[prints.seedAxis] !== undefined &&
    isOf(row, { part, metric, seedAxis: prints.seedAxis })
  );
  const bySource = Map.groupBy(rows, ({ source }) => source).values();
  const enough = bySource.find((own) => own.length > 1);
  return enough ? moments(enough.map(({ value }) => tested(value!))).sd || null : null;
}

function expectedSpread(comparison: Comparison, prints: Prints): number | null {
  if (comparison.spread === null) return null;
  return scaleOf(comparison, prints.metrics[comparison.metric]!).tested(comparison.spread);
}

/**
 * What a paper prints: read from its rows, and looked up for conditions and changes.
 *
 * @module
 */
import type { Metric, Metrics } from "./spec/axes.ts";
import type { Paper, Published } from "./spec/published.ts";
import { keyOf, type PublishedValue, type Study } from "./study.ts";
import type { At } from "./tidy/table.ts";

/** A question to the paper: of which condition, averaged over what, in which table of its. */
export interface Lookup {
  readonly metric: string;
  readonly at: At;
  readonly over?: Readonly<Record<string, readonly string[]>>;
  readonly source?: string | undefined;
}

/** Where answers are looked up. */
export type Prints = Pick<Study, "published" | "metrics">;

/**
 * What the paper prints for a condition, or for its difference from `against`.
 *
 * A value without a coordinate that others of its metric have is an average over that axis: it stands
 * for means over all of the values that the paper prints, and for no single one.
 */
export function printedAt(
  { published }: Pick<Prints, "published">,
  { metric, at, over = {}, source, against = null }: Lookup & { readonly against?: At | null },
): PublishedValue | undefined {
  const all = published.filter((each) => each.metric === metric);
  const isWhole = Object.entries(over).every(([axis, values]) =>
    all.every((each) => each.at[axis] === undefined || values.includes(each.at[axis]))
  );
  if (!isWhole) return undefined;
  const own = all.filter((each) => (each.against === null) === (against === null));
  const axes = [...new Set(own.flatMap((each) => Object.keys(each.at)))];
  return own.find((each) =>
    (source === undefined || each.source === source) &&
    keyOf(each.against ?? {}) === keyOf(against ?? {}) &&
    axes.every((axis) => each.at[axis] === at[axis])
  );
}

/** A printed change as shown: as such, or that of two printed means of one source. */
export function printedChange(
  prints: Prints,
  { against, ...own }: Lookup & { readonly against: At },
): { readonly value: number; readonly digits: number } | undefined {
  const direct = printedAt(prints, { ...own, against });
  if (direct?.value != null) {
    return { value: direct.value, digits: printedDigits(direct.rounding) };
  }
  const first = printedAt(prints, own);
  const second = printedAt(prints, {
    ...own,
    at: { ...own.at, ...against },
    source: first?.source,
  });
  if (first?.value == null || second?.value == null) return undefined;
  const metric = prints.metrics[own.metric]!;
  return {
    value: changeOf(metric, first.value, second.value),
    digits: metric.change === "ratio"
      ? metric.digits
      : Math.max(printedDigits(first.rounding), printedDigits(second.rounding)),
  };
}

/** How a printed value compares with another, as changes of its metric are shown. */
export function changeOf({ change }: Pick<Metric, "change">, value: number, other: number): number {
  return change === "ratio" ? 100 * (value / other - 1) : value - other;
}

/** Decimals that a printed value has, from its rounding: 0.005 is of two. */
export function printedDigits(rounding: number): number {
  return rounding > 0 ? Math.min(10, Math.max(0, Math.round(-Math.log10(2 * rounding)))) : 0;
}

/** A source's changes under each seed, in the order of the seeds. */
export interface Series {
  readonly source: string;
  readonly metric: string;
  readonly at: At;
  readonly against: At;
  readonly seeds: readonly string[];
  readonly values: readonly number[];
}

/** The paper's changes for each seed, by what they are of. */
export function seriesOf({ published, seeds }: Pick<Study, "published" | "seeds">): Series[] {
  const own = published.flatMap(({ at: { [seeds]: seed, ...at }, against, value, ...rest }) =>
    seed === undefined || against === null || value === null
      ? []
      : [{ source: rest.source, metric: rest.metric, at, against, seed, value }]
  );
  const groups = Map.groupBy(
    own,
    ({ source, metric, at, against }) => [source, metric, keyOf(at), keyOf(against)].join("\n"),
  );
  return [...groups.values()].map((group) => {
    const { seed: _, value: __, ...what } = group[0]!;
    return {
      ...what,
      seeds: group.map(({ seed }) => seed),
      values: group.map(({ value }) => value),
    };
  });
}

/** A printed value of a condition over all of its seeds. */
export type Mean = PublishedValue & { readonly value: number };

/** Printed values that are no changes and of no single seed. */
export function meansOf({ published, seeds }: Study): Mean[] {
  return published.flatMap((each) =>
    each.value !== null && each.against === null && each.at[seeds] === undefined
      ? [{ ...each, value: each.value }]
      : []
  );
}

/** The first of some means that is of a place, in a source where one is given. */
export function meanAt(
  means: readonly Mean[],
  { metric, at, source }: Pick<Lookup, "metric" | "at" | "source">,
): Mean | undefined {
  return means.find((each) =>
    each.metric === metric && keyOf(each.at) === keyOf(at) &&
    (source === undefined || each.source === source)
  );
}

/** Column names that begin with it: `against.operator` names what a difference is taken from. */
export const AGAINST = "against.";

/**
 * What a paper prints of the metrics at hand, as a study has it. One file has all that it prints, of
 * timings too, which other runs measure.
 */
export function publishedValues({ published, paper, metrics }: {
  readonly published: Published;
  readonly paper: Paper;
  readonly metrics: Metrics;
}): PublishedValue[] {
  return published.filter(({ metric }) => metric in metrics)
    .map((row) => publishedValue(row, paper));
}

/** A row of the paper's numbers: what its text says of rounding, what its columns say of place. */
function publishedValue(row: Published[number], paper: Paper): PublishedValue {
  const { source, page, metric, value, spread, n, words, ...places } = row;
  const at: Record<string, string> = {}, against: Record<string, string> = {};
  for (const [name, place] of Object.entries(places)) {
    if (place === "") continue;
    if (name.startsWith(AGAINST)) against[name.slice(AGAINST.length)] = String(place);
    else at[name] = String(place);
  }
  const decimals = value.split(".")[1]?.length ?? 0;
  return {
    ...{ source, page, metric, at },
    against: Object.keys(against).length === 0 ? null : against,
    value: value === "" ? null : Number(value),
    rounding: Math.max(0.5 / 10 ** decimals, /^fig/i.test(source) ? paper.reading_error : 0),
    spread: spread === "" ? null : Number(spread),
    n: n === "" ? paper.seeds ?? null : Number(n),
    words,
  };
}

/**
 * Whether what a paper prints can all be true at once: where it prints a thing twice, both are
 * compared.
 *
 * @module
 */
import { comparisonText } from "../claims/judge.ts";
import type { JudgedClaim } from "../claims/judged.ts";
import {
  changeOf,
  type Mean,
  meanAt,
  meansOf,
  printedDigits,
  type Series,
  seriesOf,
} from "../printed.ts";
import type { Finding } from "../results.ts";
import type { Metric } from "../spec/axes.ts";
import { sum, summarize } from "../statistics/sample.ts";
import {
  axisOf,
  keyOf,
  metricOf,
  placeText,
  type PublishedValue,
  type Study,
  titleOf,
} from "../study.ts";
import type { At } from "../tidy/table.ts";
import { changeUnit, decimal, printedText, signed } from "./format.ts";
import { differenceText, without } from "./places.ts";

/** A little for the float. */
const FLOAT = 1e-9;

/** What the paper's numbers and claims say of each other. */
export function findingsOf(study: Study, claims: readonly JudgedClaim[]): Finding[] {
  return [
    ...seriesAgainstMeans(study),
    ...seriesAgainstSeries(study),
    ...meansAgainstMeans(study),
    ...averagesAgainstValues(study),
    ...changesAgainstMeans(study),
    ...wordsAgainstNumbers(study),
    ...claimsAgainstNumbers(study, claims),
  ];
}

/** One statement of a quantity: a clause, its number, and how far this may be off. */
type Said = readonly [text: string, value: number, error: number];

/** Two statements of one quantity. @param apart What is said where they do not fit. */
function compared(what: string, [a, b]: readonly [Said, Said], apart = ""): Finding {
  const agrees = Math.abs(a[1] - b[1]) <= a[2] + b[2] + FLOAT;
  return { agrees, text: `${what}: ${a[0]}, ${b[0]}${agrees ? "" : apart}.` };
}

/** The printed means of a change, and what each is compared with in its source. */
function pairsOf(
  study: Study,
  { metric, at, against }: { readonly metric: string; readonly at: At; readonly against: At },
): { readonly cell: Mean; readonly base: Mean }[] {
  const means = meansOf(study);
  return means.filter((cell) => cell.metric === metric && keyOf(cell.at) === keyOf(at))
    .flatMap((cell) => {
      const base = meanAt(means, { ...cell, at: { ...at, ...against } });
      return base === undefined ? [] : [{ cell, base }];
    });
}

/** Changes of each seed against the means and spreads of a source of as many seeds. */
function seriesAgainstMeans(study: Study): Finding[] {
  return seriesOf(study).flatMap((series) => {
    const metric = metricOf(study, series.metric);
    if (metric.change === "ratio") return [];
    const number = (value: number) => signed(value, metric.digits);
    return pairsOf(study, series).flatMap(({ cell, base }) => {
      // With fewer seeds than the means', they need not agree.
      const isAlike = series.values.length === (cell.n ?? study.paper.seeds);
      if (!isAlike || cell.spread === null || base.spread === null) return [];
      const { mean } = summarize(series.values);
      const printed = cell.value - base.value;
      return [
        compared(seriesText(study, series), [
          [`the seeds' mean is ${number(mean)}`, mean, study.paper.reading_error],
          [
            `${cell.source}'s means differ by ${number(printed)}`,
            printed,
            cell.rounding + base.rounding,
          ],
        ]),
        spreadsFit(study, series, { cell, base, spreads: [cell.spread, base.spread] }),
      ];
    });
  });
}

/**
 * A standard deviation is a norm, so that of a difference lies between the difference and the sum
 * of the two; printed spreads outside that can't be those of the same runs.
 */
function spreadsFit(
  study: Study,
  series: Series,
  { cell, base, spreads }: { cell: Mean; base: Mean; spreads: readonly [number, number] },
): Finding {
  const metric = metricOf(study, series.metric);
  const { sd, n } = summarize(series.values);
  const error = study.paper.reading_error * Math.sqrt(n / (n - 1)) + cell.rounding + base.rounding;
  const min = Math.abs(spreads[0] - spreads[1]);
  const max = spreads[0] + spreads[1];
  const agrees = sd! >= min - error && sd! <= max + error;
  // Printed as standard errors, they would be √n times larger as standard deviations.
  const asErrors = sd! <= max * Math.sqrt(n) + error;
  const number = (value: number) => decimal(value, metric.digits);
  const more = agrees
    ? sd! > max || sd! < min ? ", the same but for the reading error." : "."
    : " if they are standard deviations over the same seeds; as standard errors they would " +
      `${asErrors ? "fit" : "not fit either"}.`;
  return {
    agrees,
    text: `${seriesText(study, series)}: the seeds have a standard deviation of ${number(sd!)} ${
      changeUnit(metric)
    }. ${cell.source}'s spreads, ${number(spreads[0])} and ${number(spreads[1])}, allow between ${
      number(min)
    } and ${number(max)}${more}`,
  };
}

/** Two sources with the changes of the same seeds. */
function seriesAgainstSeries(study: Study): Finding[] {
  return everyTwo(seriesOf(study)).flatMap(([first, second]) => {
    const shared = first.seeds.filter((seed) => second.seeds.includes(seed));
    const same = first.metric === second.metric && keyOf(first.at) === keyOf(second.at) &&
      keyOf(first.against) === keyOf(second.against);
    if (!same || shared.length === 0) return [];
    const { digits } = metricOf(study, first.metric);
    const [a, b] = [first, second].map(({ seeds, values }) =>
      shared.map((seed) => values[seeds.indexOf(seed)]!)
    );
    const widest = Math.max(...a!.map((value, index) => Math.abs(value - b![index]!)));
    const agrees = widest <= 2 * study.paper.reading_error + FLOAT;
    const list = (values: readonly number[]) =>
      values.map((each) => signed(each, digits)).join(", ");
    return [{
      agrees,
      text: `${seriesText(study, first)}, seeds ${shared[0]} to ${
        shared.at(-1)
      }: ${first.source} shows ${list(a!)}, ${second.source} ${list(b!)}${
        agrees ? "" : "; they can't be the same runs"
      }.`,
    }];
  });
}

/** Two sources with the same condition. */
function meansAgainstMeans(study: Study): Finding[] {
  return everyTwo(meansOf(study)).flatMap(([first, second]) => {
    if (
      first.metric !== second.metric || first.source === second.source ||
      keyOf(first.at) !== keyOf(second.at)
    ) return [];
    const what = whatText(study, first);
    const digits = Math.max(printedDigits(first.rounding), printedDigits(second.rounding));
    const unit = unitText({ ...metricOf(study, first.metric), change: "difference" });
    const gap = decimal(Math.abs(first.value - second.value), digits);
    const means = compared(what, [
      [`${first.source} prints a mean of ${meanText(first)}`, first.value, first.rounding],
      [`${second.source} ${meanText(second)}`, second.value, second.rounding],
    ], `, ${gap}${unit} apart`);
    const [spread, other] = [first.spread, second.spread];
    if (spread === null || other === null) return [means];
    const spreads = compared(
      what,
      [
        [`${first.source} prints a spread of ${decimal(spread, digits)}`, spread, first.rounding],
        [`${second.source} ${decimal(other, digits)}`, other, first.rounding],
      ],
      `, ${decimal(other / spread, 1)} times as much; both can't be the standard deviation over ` +
        "the same seeds",
    );
    return [means, spreads];
  });
}

/** A printed average, and what the values that it is of come to. */
interface Average {
  readonly cell: Mean;
  readonly mean: number;
  /** `on average over 4 values of text`. */
  readonly over: string;
}

/** Printed averages over an axis, all of whose values are printed. */
function averagesOf(study: Study): Average[] {
  const means = meansOf(study);
  return means.flatMap((cell) => {
    const others = means.filter(({ metric }) => metric === cell.metric);
    const axes = [...new Set(others.flatMap(({ at }) => Object.keys(at)))];
    const [axis, ...more] = axes.filter((name) => cell.at[name] === undefined);
    if (axis === undefined || more.length > 0) return [];
    const all = [...new Set(others.flatMap(({ at }) => at[axis] ?? []))];
    const values = all.flatMap((value) =>
      meanAt(means, { metric: cell.metric, at: { ...cell.at, [axis]: value } })?.value ?? []
    );
    if (values.length < all.length) return [];
    const title = (axisOf(study, axis)?.title ?? axis).toLowerCase();
    const over = `on average over ${all.length} values of ${title}`;
    return [{ cell, over, mean: sum(values) / all.length }];
  });
}

/** Printed averages, and their differences from the baseline's, against the values that they are of. */
function averagesAgainstValues(study: Study): Finding[] {
  const averages = averagesOf(study);
  return averages.flatMap((each) => {
    const { cell, mean, over } = each;
    const { better } = metricOf(study, cell.metric);
    const computedText = decimal(mean, printedDigits(cell.rounding) + 1);
    const fits = compared(`${whatText(study, cell)}, ${over}`, [
      [`${cell.source} prints ${meanText(cell)}`, cell.value, cell.rounding],
      [`the printed values have a mean of ${computedText}`, mean, 0],
    ]);
    const base = averages.find((other) =>
      other.cell.source === cell.source && other !== each &&
      Object.keys(cell.at).length > 0 &&
      keyOf(other.cell.at) === keyOf(baselinePlace(study, cell.at))
    );
    if (base === undefined) return [fits];
    const printed = cell.value - base.cell.value;
    const computed = mean - base.mean;
    const word = (change: number) => {
      if (change === 0) return "equal";
      if (better === undefined) return change > 0 ? "greater" : "less";
      return (change > 0) === (better === "greater") ? "better" : "worse";
    };
    return [fits, {
      agrees: Math.sign(printed) === Math.sign(computed),
      text: `${whereText(study, cell.at)} against ${whatText(study, base.cell)}, ${over}: ${
        word(printed)
      } by ${cell.source}'s averages, ${word(computed)} by the printed values.`,
    }];
  });
}

/** A printed change against the printed means that it is of. */
function changesAgainstMeans(study: Study): Finding[] {
  return study.published.flatMap((each) => {
    const { against, value, rounding, source } = each;
    if (against === null || value === null || each.at[study.seeds] !== undefined) return [];
    const metric = metricOf(study, each.metric);
    const digits = printedDigits(rounding);
    return pairsOf(study, { ...each, against }).map(({ cell, base }) => {
      const change = changeOf(metric, cell.value, base.value);
      const error = metric.change === "ratio"
        ? 100 * (cell.rounding + base.rounding * cell.value / base.value) / base.value
        : cell.rounding + base.rounding;
      const printed = `${source} prints a change of ${signed(value, digits)}${unitText(metric)}`;
      return compared(whatText(study, each), [
        [`${printed} from ${whereText(study, against)}`, value, rounding],
        [`${cell.source}'s values differ by ${signed(change, digits + 1)}`, change, error],
      ]);
    });
  });
}

/** Neighbours in a source's order in words, from the least to the greatest, and another's numbers. */
function wordsAgainstNumbers(study: Study): Finding[] {
  const words = study.published.filter((each) => each.value === null && each.words !== "");
  const means = meansOf(study);
  const sources = [...new Set(means.map(({ source }) => source))];
  return words.slice(1).flatMap((greater, index) => {
    const less = words[index]!;
    if (less.source !== greater.source || less.metric !== greater.metric) return [];
    const { title, unit } = metricOf(study, greater.metric);
    const axes = Object.keys(greater.at).filter((axis) => greater.at[axis] !== less.at[axis]);
    const named = ({ at, words }: PublishedValue) =>
      `${axes.map((axis) => titleOf(study, axis, at[axis]!)).join(", ")} (“${words}”)`;
    const same = Object.entries(greater.at).filter(([axis]) => !axes.includes(axis));
    const where = `${whereText(study, Object.fromEntries(same))}, ${title.toLowerCase()}`;
    const after = unit === "" ? "" : ` ${unit}`;
    return sources.flatMap((source) => {
      const [high, low] = [greater, less].map((each) => meanAt(means, { ...each, source }));
      if (high === undefined || low === undefined) return [];
      const gap = high.value - low.value;
      const other = `, ${decimal(-gap, printedDigits(high.rounding))}${after} the other way`;
      return [{
        agrees: gap > 0,
        text: `${where}: ${greater.source} puts ${named(greater)} above ${named(less)}; ` +
          `${source} has ${meanText(high)}${after} against ${meanText(low)}${after}` +
          `${gap > 0 ? "" : other}.`,
      }];
    });
  });
}

/** Claims of a sign whose own printed number has the other. */
function claimsAgainstNumbers(study: Study, claims: readonly JudgedClaim[]): Finding[] {
  return claims.filter(({ source }) => source === "paper").flatMap((claim) =>
    claim.comparisons.flatMap(({ comparison, printed }) => {
      const { test, against, direction } = comparison;
      if (test === "equivalence" || test === "within" || against === null) return [];
      if (printed === null || printed === 0) return [];
      if ((printed > 0) === (direction === "greater")) return [];
      const metric = metricOf(study, comparison.metric);
      // Whatever ran: of what is printed for several encodings, each has a sentence of its own.
      const text = comparisonText(study, comparison, { all: true });
      return [{
        agrees: false,
        text: `Claim ${claim.id} (“${claim.statement}”): what is printed for ${text} is ${
          signed(printed, metric.digits)
        }${unitText(metric)}, the other sign.`,
      }];
    })
  );
}

/** Coordinates with those at an axis that has a baseline moved there. */
function baselinePlace(study: Study, at: At): At {
  return Object.fromEntries(
    Object.entries(at).map(([axis, value]) => [axis, axisOf(study, axis)?.baseline ?? value]),
  );
}

function whereText(study: Study, at: At): string {
  return placeText(study, at, { all: true });
}

function seriesText(study: Study, { source, at, against }: Series): string {
  const where = whereText(study, without(at, against));
  return `${source}, ${where === "" ? "" : `${where}, `}${differenceText(study, at, against)}`;
}

/** `Gas, Vanilla, time`; the metric where the paper prints several. */
function whatText(study: Study, { at, metric }: PublishedValue): string {
  const several = new Set(study.published.map((each) => each.metric)).size > 1;
  const title = metricOf(study, metric).title.toLowerCase();
  return [whereText(study, at), ...several ? [title] : []].filter((text) => text !== "").join(", ");
}

function meanText(mean: Mean): string {
  return printedText({ ...mean, spread: null });
}

/** What changes are counted in, after a number. */
function unitText(metric: Metric): string {
  const unit = changeUnit(metric);
  return unit === "" ? "" : ` ${unit}`;
}

function everyTwo<T>(all: readonly T[]): (readonly [T, T])[] {
  return all.flatMap((first, index) =>
    all.slice(index + 1).map((second) => [first, second] as const)
  );
}

/**
 * Whether what a paper prints can all be true at once: where it prints a thing twice, both are
 * compared.
 *
 * @module
 */
import type { JudgedClaim } from "../claims/judged.ts";
import type { Finding } from "../results.ts";
import { sum, summarize } from "../statistics/sample.ts";
import { axisOf, keyOf, metricOf, type PublishedValue, type Study, titleOf } from "../study.ts";
import type { At } from "../tidy/table.ts";
import { changeUnit, decimal, printedDigits, signed } from "./format.ts";
import { baseOf, meansOf, type Series, seriesOf } from "./paper.ts";
import { differenceText, whereText, without } from "./places.ts";
import { changeOf } from "./printed.ts";

type Mean = PublishedValue & { readonly value: number };

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

/** Changes of each seed against the means and spreads of a source of as many seeds. */
function seriesAgainstMeans(study: Study): Finding[] {
  const means = meansOf(study);
  return seriesOf(study).flatMap((series) =>
    means.flatMap((cell) => {
      const isCell = cell.metric === series.metric && keyOf(cell.at) === keyOf(series.at);
      const base = baseOf(means, cell, series.against);
      // With fewer seeds than the means', they need not agree.
      const alike = series.values.length === (cell.n ?? study.paper.seeds);
      if (!isCell || base === undefined || !alike) return [];
      if (metricOf(study, series.metric).change === "ratio") return [];
      if (cell.spread === null || base.spread === null) return [];
      return [
        meansFit(study, series, { cell, base }),
        spreadsFit(study, series, { cell, base, spreads: [cell.spread, base.spread] }),
      ];
    })
  );
}

function meansFit(
  study: Study,
  series: Series,
  { cell, base }: { cell: Mean; base: Mean },
): Finding {
  const { digits } = metricOf(study, series.metric);
  const { mean } = summarize(series.values);
  const printed = cell.value - base.value;
  const error = study.paper.reading_error + cell.rounding + base.rounding;
  return {
    agrees: Math.abs(mean - printed) <= error + FLOAT,
    text: `${seriesText(study, series)}: the seeds' mean is ${
      signed(mean, digits)
    }, ${cell.source}'s means differ by ${signed(printed, digits)}.`,
  };
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
    const where = placeText(study, first);
    const digits = Math.max(printedDigits(first.rounding), printedDigits(second.rounding));
    const gap = Math.abs(first.value - second.value);
    const agrees = gap <= first.rounding + second.rounding + FLOAT;
    const unit = changeUnit({ ...metricOf(study, first.metric), change: "difference" });
    const apart = `, ${decimal(gap, digits)}${unit === "" ? "" : ` ${unit}`} apart`;
    const means: Finding = {
      agrees,
      text: `${where}: ${first.source} prints a mean of ${numberText(first)}, ${second.source} ${
        numberText(second)
      }${agrees ? "" : apart}.`,
    };
    if (first.spread === null || second.spread === null) return [means];
    const same = Math.abs(first.spread - second.spread) <= 2 * first.rounding + FLOAT;
    const spread = (value: number) => decimal(value, digits);
    return [means, {
      agrees: same,
      text: `${where}: ${first.source} prints a spread of ${
        spread(first.spread)
      }, ${second.source} ${spread(second.spread)}${
        same
          ? "."
          : `, ${decimal(second.spread / first.spread, 1)} times as much; both can't be the ` +
            "standard deviation over the same seeds."
      }`,
    }];
  });
}

/** A printed average against the mean of the values that it is of, where all of them are printed. */
function averagesAgainstValues(study: Study): Finding[] {
  const means = meansOf(study);
  const averages = means.flatMap((cell) => {
    const others = means.filter(({ metric }) => metric === cell.metric);
    const axes = [...new Set(others.flatMap(({ at }) => Object.keys(at)))];
    const [axis, ...more] = axes.filter((name) => cell.at[name] === undefined);
    if (axis === undefined || more.length > 0) return [];
    const all = [...new Set(others.flatMap(({ at }) => at[axis] ?? []))];
    const values = all.flatMap((value) =>
      others.find(({ at }) => keyOf(at) === keyOf({ ...cell.at, [axis]: value }))?.value ?? []
    );
    return values.length < all.length
      ? []
      : [{ cell, axis, n: all.length, mean: sum(values) / all.length }];
  });
  const of = ({ axis, n }: { axis: string; n: number }) =>
    `on average over ${n} values of ${(axisOf(study, axis)?.title ?? axis).toLowerCase()}`;
  return averages.flatMap((each) => {
    const { cell, mean } = each;
    const metric = metricOf(study, cell.metric);
    const digits = printedDigits(cell.rounding) + 1;
    const fits: Finding = {
      agrees: Math.abs(mean - cell.value) <= cell.rounding + FLOAT,
      text: `${placeText(study, cell)}, ${of(each)}: ${cell.source} prints ${
        numberText(cell)
      }, the printed values have a mean of ${decimal(mean, digits)}.`,
    };
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
      if (metric.better === undefined) return change > 0 ? "greater" : "less";
      return (change > 0) === (metric.better === "greater") ? "better" : "worse";
    };
    return [fits, {
      agrees: Math.sign(printed) === Math.sign(computed),
      text: `${whereText(study, cell.at)} against ${placeText(study, base.cell)}, ${of(each)}: ${
        word(printed)
      } by ${cell.source}'s averages, ${word(computed)} by the printed values.`,
    }];
  });
}

/** A printed change against the printed means that it is of. */
function changesAgainstMeans(study: Study): Finding[] {
  const means = meansOf(study);
  return study.published.flatMap((each) => {
    if (each.against === null || each.value === null || each.at[study.seeds] !== undefined) {
      return [];
    }
    const metric = metricOf(study, each.metric);
    return means.flatMap((cell) => {
      const base = baseOf(means, cell, each.against!);
      if (cell.metric !== each.metric || keyOf(cell.at) !== keyOf(each.at) || !base) return [];
      const computed = changeOf(metric, cell.value, base.value);
      const error = metric.change === "ratio"
        ? 100 * (cell.rounding + base.rounding * cell.value / base.value) / base.value
        : cell.rounding + base.rounding;
      const digits = printedDigits(each.rounding);
      const unit = changeUnit(metric);
      return [{
        agrees: Math.abs(computed - each.value!) <= error + each.rounding + FLOAT,
        text: `${placeText(study, each)}: ${each.source} prints a change of ${
          signed(each.value!, digits)
        }${unit === "" ? "" : ` ${unit}`} from ${
          whereText(study, each.against!)
        }, ${cell.source}'s values differ by ${signed(computed, digits + 1)}.`,
      }];
    });
  });
}

/** Neighbours in a source's order in words, from the least to the greatest, and another's numbers. */
function wordsAgainstNumbers(study: Study): Finding[] {
  const words = study.published.filter((each) => each.value === null && each.words !== "");
  const means = meansOf(study);
  return words.slice(1).flatMap((greater, index) => {
    const less = words[index]!;
    if (less.source !== greater.source || less.metric !== greater.metric) return [];
    const metric = metricOf(study, greater.metric);
    const find = (cell: PublishedValue, source: string) =>
      means.find((each) =>
        each.source === source && each.metric === cell.metric && keyOf(each.at) === keyOf(cell.at)
      );
    const axes = Object.keys(greater.at).filter((axis) => greater.at[axis] !== less.at[axis]);
    const named = ({ at, words }: PublishedValue) =>
      `${axes.map((axis) => titleOf(study, axis, at[axis]!)).join(", ")} (“${words}”)`;
    const same = Object.entries(greater.at).filter(([axis]) => !axes.includes(axis));
    const unit = metric.unit === "" ? "" : ` ${metric.unit}`;
    const sources = [...new Set(means.map(({ source }) => source))];
    return sources.flatMap((source) => {
      const [high, low] = [find(greater, source), find(less, source)];
      if (high === undefined || low === undefined) return [];
      const gap = high.value - low.value;
      return [{
        agrees: gap > 0,
        text: `${
          whereText(study, Object.fromEntries(same))
        }, ${metric.title.toLowerCase()}: ${greater.source} puts ${named(greater)} above ${
          named(less)
        }; ${source} has ${numberText(high)}${unit} against ${numberText(low)}${unit}${
          gap > 0 ? "." : `, ${decimal(-gap, printedDigits(high.rounding))}${unit} the other way.`
        }`,
      }];
    });
  });
}

/** Claims of a sign whose own printed number has the other. */
function claimsAgainstNumbers(study: Study, claims: readonly JudgedClaim[]): Finding[] {
  return claims.filter(({ source }) => source === "paper").flatMap((claim) =>
    claim.comparisons.flatMap(({ comparison, text, printed }) => {
      const { test, against, direction } = comparison;
      if (test === "equivalence" || test === "within" || against === null) return [];
      if (printed === null || printed === 0) return [];
      if ((printed > 0) === (direction === "greater")) return [];
      const metric = metricOf(study, comparison.metric);
      const unit = changeUnit(metric);
      return [{
        agrees: false,
        text: `Claim ${claim.id} (“${claim.statement}”): what is printed for ${text} is ${
          signed(printed, metric.digits)
        }${unit === "" ? "" : ` ${unit}`}, the other sign.`,
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

function seriesText(study: Study, { source, at, against }: Series): string {
  const where = whereText(study, without(at, against));
  return `${source}, ${where === "" ? "" : `${where}, `}${differenceText(study, at, against)}`;
}

/** `Gas, Vanilla, time`; the metric where the paper prints several. */
function placeText(study: Study, { at, metric }: PublishedValue): string {
  const several = new Set(study.published.map((each) => each.metric)).size > 1;
  const title = metricOf(study, metric).title.toLowerCase();
  return [whereText(study, at), ...several ? [title] : []].filter((text) => text !== "").join(", ");
}

function numberText({ value, rounding, words }: Mean): string {
  return `${words === "" ? "" : `${words} `}${decimal(value, printedDigits(rounding))}`;
}

function everyTwo<T>(all: readonly T[]): (readonly [T, T])[] {
  return all.flatMap((first, index) =>
    all.slice(index + 1).map((second) => [first, second] as const)
  );
}

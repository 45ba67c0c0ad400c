/**
 * The paper's own numbers, put to the tests that ours are put to.
 *
 * @module
 */
import { holm } from "../statistics/holm.ts";
import { pairedTTest } from "../statistics/paired_t.ts";
import { signedRankTest, signTest } from "../statistics/rank_tests.ts";
import { alphaOf, summarize } from "../statistics/sample.ts";
import { studentTQuantile, studentTTwoSided } from "../statistics/student_t.ts";
import {
  keyOf,
  metricOf,
  type PublishedValue,
  shownChange,
  type Study,
  testedChange,
} from "../study.ts";
import type { At } from "../tidy/table.ts";
import { formatsOf, intervalText, NONE, percent, probability } from "./format.ts";
import { differenceText, whereText } from "./places.ts";
import { numbers, type Table } from "./table.ts";

/** A source's changes under each seed, in the order of the seeds. */
export interface Series {
  readonly source: string;
  readonly metric: string;
  readonly at: At;
  readonly against: At;
  readonly seeds: readonly string[];
  readonly values: readonly number[];
}

/** The paper's values for each seed, by what they are of. */
export function seriesOf({ published, seeds }: Study): Series[] {
  const own = published.filter(({ at, against, value }) =>
    at[seeds] !== undefined && against !== null && value !== null
  ).map(({ at: { [seeds]: seed, ...at }, ...rest }) => ({ ...rest, at, seed: seed! }));
  const groups = Map.groupBy(
    own,
    ({ source, metric, at, against }) =>
      JSON.stringify([source, metric, keyOf(at), keyOf(against!)]),
  );
  return [...groups.values()].map((group) => {
    const { source, metric, at, against } = group[0]!;
    return {
      ...{ source, metric, at, against: against! },
      seeds: group.map(({ seed }) => seed),
      values: group.map(({ value }) => value!),
    };
  });
}

/** Printed values that are no changes and of no single seed. */
export function meansOf({ published, seeds }: Study): (PublishedValue & { value: number })[] {
  return published.flatMap((each) =>
    each.value !== null && each.against === null && each.at[seeds] === undefined
      ? [{ ...each, value: each.value }]
      : []
  );
}

/** A source's per-seed changes by the paired tests. */
export function paperFigures(study: Study): Table {
  const series = seriesOf(study).filter(({ values }) => values.length > 1);
  const tested = series.map((each) => {
    const metric = metricOf(study, each.metric);
    const values = each.values.map((value) => testedChange(metric, value));
    const p = pairedTTest(values)?.p ?? null;
    const { sd, interval, ...rest } = summarize(values, study.confidence);
    const shown = (value: number) => shownChange(metric, value);
    return {
      ...{ ...each, ...rest, ...signTest(values), metric, name: each.metric, p },
      ...{ mean: shown(rest.mean), sd: shown(sd!), interval: interval!.map(shown) },
      signedRank: signedRankTest(values).p,
    };
  });
  const corrected = holm(tested.flatMap(({ p }) => p ?? []));
  const own = tested.map((each) => ({
    ...each,
    holm: each.p === null ? null : corrected.shift()!,
  }));
  const axes = axesOf(study, series);
  return {
    id: "paper_figures",
    caption: "The paper's changes of each seed, by the tests that ours are put to",
    columns: [
      ...[{ title: "Source" }, { title: "Where" }, { title: "Difference" }],
      ...[numbers("Seeds"), numbers("Mean")],
      numbers(`${percent(study.confidence)} interval`, "interval"),
      ...[numbers("Std. dev."), numbers("p"), numbers("p, Holm"), numbers("Signed-rank p")],
      numbers("Wins/losses"),
    ],
    rows: own.map((each) => {
      const { value, change } = formatsOf(each.metric);
      const { positive, negative } = each;
      const wins = each.metric.better === "less" ? [negative, positive] : [positive, negative];
      return [
        ...[each.source, restText(study, each), differenceText(study, each.at, each.against)],
        ...[String(each.n), change(each.mean)],
        intervalText([each.interval[0]!, each.interval[1]!], change),
        ...[value(each.sd), ...[each.p, each.holm, each.signedRank].map(probability)],
        wins.join("/"),
      ];
    }),
    names: own.map((each) => nameOf(each)),
    notes: [
      "Paired t tests and exact signed-rank tests; Holm's correction is over this table." +
      (study.paper.reading_error > 0
        ? ` Values read off figures are exact to about ${study.paper.reading_error}.`
        : ""),
    ],
    data: {
      columns: [
        ...["source", "metric", ...axes.at, ...axes.against.map((axis) => `against_${axis}`)],
        ...["n", "mean", "sd", "interval_low", "interval_high", "p", "p_holm", "signed_rank_p"],
        ...["positive", "negative"],
      ],
      rows: own.map((each) => [
        ...[each.source, each.name, ...axes.at.map((axis) => each.at[axis] ?? null)],
        ...[...axes.against.map((axis) => each.against[axis] ?? null), each.n, each.mean, each.sd],
        ...[each.interval[0]!, each.interval[1]!, each.p, each.holm, each.signedRank],
        ...[each.positive, each.negative],
      ]),
    },
  };
}

/**
 * Differences of printed means from the baseline in the same source, by unpaired t tests from means
 * and spreads.
 *
 * Degrees of freedom are n − 1 of the smaller group, the least Welch's formula can give, which errs
 * towards caution.
 */
export function paperTables(study: Study): Table {
  const means = meansOf(study);
  const own = means.flatMap((cell) => {
    const metric = metricOf(study, cell.metric);
    const axis = study.axes.find(({ name, baseline }) =>
      baseline !== null && cell.at[name] !== undefined && cell.at[name] !== baseline
    );
    if (axis === undefined || metric.change === "ratio") return [];
    const against = { [axis.name]: axis.baseline! };
    const base = means.find((other) =>
      other.source === cell.source && other.metric === cell.metric &&
      keyOf(other.at) === keyOf({ ...cell.at, ...against })
    );
    const [n, m] = [cell, base].map((each) => each?.n ?? study.paper.seeds ?? 0);
    if (base?.spread == null || cell.spread === null || Math.min(n!, m!) < 2) return [];
    const mean = cell.value - base.value;
    const error = Math.sqrt(cell.spread ** 2 / n! + base.spread ** 2 / m!);
    const df = Math.min(n!, m!) - 1;
    const half = studentTQuantile(1 - alphaOf(study.confidence) / 2, df) * error;
    const p = error === 0 ? null : studentTTwoSided(mean / error, df);
    return [{
      ...cell,
      name: cell.metric,
      metric,
      against,
      mean,
      low: mean - half,
      high: mean + half,
      p,
    }];
  });
  const axes = axesOf(study, own);
  return {
    id: "paper_tables",
    caption: "Differences of the paper's printed means",
    columns: [
      ...[{ title: "Source" }, { title: "Where" }, { title: "Difference" }, numbers("Mean")],
      ...[numbers(`${percent(study.confidence)} interval`, "interval"), numbers("p")],
    ],
    rows: own.map((each) => {
      const { change } = formatsOf(each.metric);
      return [
        ...[each.source, restText(study, each), differenceText(study, each.at, each.against)],
        ...[change(each.mean), intervalText([each.low, each.high], change), probability(each.p)],
      ];
    }),
    names: own.map((each) => nameOf({ ...each, metric: each.name })),
    notes: [
      "Unpaired t tests, the printed spreads taken for standard deviations over the seeds, with " +
      "n − 1 degrees of freedom.",
    ],
    data: {
      columns: [
        ...["source", "metric", ...axes.at, ...axes.against.map((axis) => `against_${axis}`)],
        ...["mean", "interval_low", "interval_high", "p"],
      ],
      rows: own.map((each) => [
        ...[each.source, each.name, ...axes.at.map((axis) => each.at[axis] ?? null)],
        ...axes.against.map((axis) => (each.against as At)[axis] ?? null),
        ...[each.mean, each.low, each.high, each.p],
      ]),
    },
  };
}

/** The coordinates that a difference's sides share. */
function restText(study: Study, { at, against }: { at: At; against: At }): string {
  const same = Object.entries(at).filter(([axis]) => against[axis] === undefined);
  return whereText(study, Object.fromEntries(same)) || NONE;
}

function nameOf({ source, metric, at, against }: {
  source: string;
  metric: unknown;
  at: At;
  against: At;
}): string[] {
  return [source, String(metric), ...Object.values(at), "from", ...Object.values(against)];
}

/** Axes that some of these have. */
function axesOf(study: Study, all: readonly { at: At; against: At }[]): {
  at: string[];
  against: string[];
} {
  const of = (ats: readonly At[]) => [...new Set(ats.flatMap((at) => Object.keys(at)))];
  const order = (axes: string[]) => {
    const known = study.axes.map(({ name }) => name).filter((axis) => axes.includes(axis));
    return [...known, ...axes.filter((axis) => !known.includes(axis))];
  };
  return {
    at: order(of(all.map(({ at }) => at))),
    against: order(of(all.map(({ against }) => against))),
  };
}

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
  axisOf,
  baselineOf,
  keyOf,
  metricOf,
  type PublishedValue,
  shownChange,
  type Study,
  testedChange,
} from "../study.ts";
import type { At } from "../tidy/table.ts";
import { formatsOf, percent, probability } from "./format.ts";
import { bounds, differences, figures, type Making, only, tableOf, words } from "./making.ts";
import type { Table } from "./table.ts";

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
  const tested = seriesOf(study).filter(({ values }) => values.length > 1).map((each) => {
    const metric = metricOf(study, each.metric);
    const values = each.values.map((value) => testedChange(metric, value));
    const { n, mean, sd, interval } = summarize(values, study.confidence);
    const shown = (value: number) => shownChange(metric, value);
    return {
      ...{ ...each, ...signTest(values), ...formatsOf(metric), n, less: metric.better === "less" },
      ...{ mean: shown(mean), sd: shown(sd!), low: shown(interval![0]), high: shown(interval![1]) },
      ...{ p: pairedTTest(values)?.p ?? null, signedRank: signedRankTest(values).p },
    };
  });
  const corrected = holm(tested.flatMap(({ p }) => p ?? []));
  const rows = tested.map((each) => ({
    ...each,
    holm: each.p === null ? null : corrected.shift()!,
  }));
  type Row = typeof rows[number];
  const error = study.paper.reading_error;
  return tableOf<Row>(rows, [
    ...placeColumns(study, rows),
    figures("Seeds", "n", ({ n }) => n),
    figures("Mean", "mean", ({ mean }) => mean, (mean, { change }) => change(mean)),
    ...bounds<Row>(
      `${percent(study.confidence)} interval`,
      ({ low, high }) => [low, high],
      (bound, { change }) => change(bound),
    ),
    figures("Std. dev.", "sd", ({ sd }) => sd, (sd, { value }) => value(sd)),
    figures("p", "p", ({ p }) => p, probability),
    figures("p, Holm", "p_holm", ({ holm }) => holm, probability),
    figures("Signed-rank p", "signed_rank_p", ({ signedRank }) => signedRank, probability),
    {
      ...{ title: "Wins/losses", name: "wins_losses" },
      show: ({ positive, negative, less }) =>
        less ? `${negative}/${positive}` : `${positive}/${negative}`,
    },
    only("positive", ({ positive }) => positive),
    only("negative", ({ negative }) => negative),
  ], {
    id: "paper_figures",
    caption: "The paper's changes of each seed, by the tests that ours are put to",
    named: nameOf,
    notes: [
      "Paired t tests and exact signed-rank tests; Holm's correction is over this table." +
      (error > 0 ? ` Values read off figures are exact to about ${error}.` : ""),
    ],
  });
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
  const rows = means.flatMap((cell) => {
    const metric = metricOf(study, cell.metric);
    const against = baselineOf(
      study,
      Object.keys(cell.at).filter((axis) => axisOf(study, axis)?.baseline !== cell.at[axis]),
    );
    if (against === null || metric.change === "ratio") return [];
    const base = baseOf(means, cell, against);
    const [n, m] = [cell, base].map((each) => each?.n ?? study.paper.seeds ?? 0);
    if (base?.spread == null || cell.spread === null || Math.min(n!, m!) < 2) return [];
    const mean = cell.value - base.value;
    const error = Math.sqrt(cell.spread ** 2 / n! + base.spread ** 2 / m!);
    const df = Math.min(n!, m!) - 1;
    const half = studentTQuantile(1 - alphaOf(study.confidence) / 2, df) * error;
    return [{
      ...{ ...cell, against, mean, low: mean - half, high: mean + half },
      ...{ p: error === 0 ? null : studentTTwoSided(mean / error, df), ...formatsOf(metric) },
    }];
  });
  type Row = typeof rows[number];
  return tableOf<Row>(rows, [
    ...placeColumns(study, rows),
    figures("Mean", "mean", ({ mean }) => mean, (mean, { change }) => change(mean)),
    ...bounds<Row>(
      `${percent(study.confidence)} interval`,
      ({ low, high }) => [low, high],
      (bound, { change }) => change(bound),
    ),
    figures("p", "p", ({ p }) => p, probability),
  ], {
    id: "paper_tables",
    caption: "Differences of the paper's printed means",
    named: nameOf,
    notes: [
      "Unpaired t tests, the printed spreads taken for standard deviations over the seeds, with " +
      "n − 1 degrees of freedom.",
    ],
  });
}

/** What a printed mean is compared with in its source. */
export function baseOf<M extends PublishedValue>(
  means: readonly M[],
  cell: M,
  against: At,
): M | undefined {
  return means.find((other) =>
    other.source === cell.source && other.metric === cell.metric && other !== cell &&
    keyOf(other.at) === keyOf({ ...cell.at, ...against })
  );
}

type Placed = Pick<Series, "source" | "metric" | "at" | "against">;

/** Where a difference is printed and what it is of. */
function placeColumns<R extends Placed>(study: Study, rows: readonly R[]): Making<R>[] {
  return [
    words("Source", "source", ({ source }) => source),
    only("metric", ({ metric }) => metric),
    ...differences(study, rows),
  ];
}

function nameOf({ source, metric, at, against }: Placed): string[] {
  return [source, metric, ...Object.values(at), "from", ...Object.values(against)];
}

/**
 * The paper's own numbers, put to the tests that ours are put to.
 *
 * @module
 */
import { meanAt, meansOf, type Series, seriesOf } from "../printed.ts";
import { holm } from "../statistics/holm.ts";
import { signedRankTest, tTest } from "../statistics/hypothesis_tests.ts";
import { alphaOf, countSigns, moments } from "../statistics/sample.ts";
import { studentTQuantile, studentTTwoSided } from "../statistics/student_t.ts";
import {
  axisOf,
  baselineOf,
  changeEstimate,
  metricOf,
  type Study,
  testedChange,
} from "../study.ts";
import { decimal, percent, probability, signed } from "./format.ts";
import { bounds, differences, figures, type Making, only, tableOf, words } from "./making.ts";
import type { Table } from "./table.ts";

/** A source's per-seed changes by the paired tests. */
export function paperFigures(study: Study): Table {
  const tested = seriesOf(study).filter(({ values }) => values.length > 1).map((each) => {
    const metric = metricOf(study, each.metric);
    const values = each.values.map((value) => testedChange(metric, value));
    return {
      ...{ ...each, ...changeEstimate(metric, values, study.confidence), ...countSigns(values) },
      ...{ less: metric.better === "less", digits: metric.digits },
      ...{ p: tTest(moments(values)), signedRank: signedRankTest(values) },
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
    ...meanColumns<Row>(study),
    figures("Std. dev.", "sd", ({ sd }) => sd, (sd, { digits }) => decimal(sd, digits)),
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

/** A mean change and its interval. */
function meanColumns<
  R extends {
    readonly mean: number;
    readonly interval: readonly [number, number] | null;
    readonly digits: number;
  },
>(study: Study): Making<R>[] {
  const change = (value: number, { digits }: R) => signed(value, digits);
  return [
    figures("Mean", "mean", ({ mean }) => mean, change),
    ...bounds<R>(`${percent(study.confidence)} interval`, ({ interval }) => interval, change),
  ];
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
    const base = meanAt(means, { ...cell, at: { ...cell.at, ...against } });
    const [n, m] = [cell, base].map((each) => each?.n ?? study.paper.seeds ?? 0);
    if (base?.spread == null || cell.spread === null || Math.min(n!, m!) < 2) return [];
    const mean = cell.value - base.value;
    const error = Math.sqrt(cell.spread ** 2 / n! + base.spread ** 2 / m!);
    const df = Math.min(n!, m!) - 1;
    const half = studentTQuantile(1 - alphaOf(study.confidence) / 2, df) * error;
    return [{
      ...{ ...cell, against, mean, interval: [mean - half, mean + half] as const },
      ...{ p: error === 0 ? null : studentTTwoSided(mean / error, df), digits: metric.digits },
    }];
  });
  type Row = typeof rows[number];
  return tableOf<Row>(rows, [
    ...placeColumns(study, rows),
    ...meanColumns<Row>(study),
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

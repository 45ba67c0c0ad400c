/**
 * What the templates `forest`, `published` and `bars` show: labelled rows of values in panels.
 *
 * @module
 */
import { printedAt, printedChange } from "../printed.ts";
import type { Bars, Forest, PublishedFigure } from "../spec/figures.ts";
import { FEWEST_FOR_INTERVAL, summarize } from "../statistics/sample.ts";
import { provenanceOf } from "../provenance.ts";
import {
  type Condition,
  conditionsOf,
  type Contrast,
  type Estimate,
  estimateOf,
  fits,
  isAt,
  metricOf,
  type PublishedValue,
  type Study,
} from "../study.ts";
import {
  changeUnit,
  counted,
  decimal,
  intervalText,
  percent,
  printedText,
  signed,
} from "../tables/format.ts";
import type { At } from "../tidy/table.ts";
import {
  againstOf,
  axisTitle,
  labelAxes,
  labelOf,
  ordered,
  panelsOf,
  pick,
  withOthers,
} from "./panels.ts";
import type { Chart } from "./theme.ts";
import { type Row, type RowPanel, rowsChart } from "./rows_chart.ts";

type Figure<T> = { readonly name: string; readonly spec: T };
type Unlabelled = Omit<Row, "label">;

/** A row for each condition, or for its difference from another: seeds, mean, interval, and the paper's. */
export function forest(study: Study, { name, spec }: Figure<Forest>): Chart {
  const metric = metricOf(study, spec.metric);
  const against = spec.show === "values" ? null : spec.against ?? againstOf(study, spec.rows);
  const panels = measuredPanels(study, spec, {
    isShown: ({ at }) => against === null || !isAt(at, against),
    rowOf: ({ at }) => {
      const { kind } = provenanceOf(study, { ...spec.where, ...at });
      const sources = kind === "synthetic" ? [] : spec.sources;
      return measuredRow(study, { metric: spec.metric, at, against }, sources);
    },
  });
  const printed = panels.some((panel) => panel.rows.some((row) => row.printed.length > 0));
  return rowsChart(panels, {
    ...{ name, title: spec.title, width: spec.width },
    subtitle: [
      "Rings: one seed each.",
      `Diamond and bar: mean and, ${intervalWords(study)}.`,
      ...printed ? ["Square: as the paper printed it."] : [],
      `Numbers: mean ${against === null ? "± standard deviation" : "[interval]"}, seeds` +
      `${printed ? "; then the paper's" : ""}.`,
    ].join(" "),
    axis: axisTitle(metric, against === null ? undefined : placeOf(study, against)),
    signed: against !== null,
    max: against === null ? metric.max : undefined,
  });
}

/** The paper's own values for each seed, a panel for each source. */
export function published(study: Study, { name, spec }: Figure<PublishedFigure>): Chart {
  const metric = metricOf(study, spec.metric);
  const own = study.published.filter((each) =>
    each.metric === spec.metric && spec.sources.includes(each.source) && each.value !== null &&
    each.at[study.seeds] !== undefined && fits(each.at, spec.where)
  );
  const against = own.find((each) => each.against !== null)?.against ?? undefined;
  const panels = spec.sources.flatMap((source): RowPanel[] => {
    const values = own.filter((each) => each.source === source);
    if (values.length === 0) return [];
    const rows = withOthers(values, spec.rows, [study.seeds, ...axesOf(values, spec.rows)]);
    const groups = Map.groupBy(
      ordered(study, values, [...rows, study.seeds]),
      ({ at }) => labelOf(study, at, labelAxes(values, rows)),
    );
    return [{
      title: paperTitle(study, { source, values, rows }),
      ours: false,
      rows: [...groups].map(([label, each]) => {
        const own = each.map(({ value }) => value!);
        const estimate = { ...summarize(own, study.confidence), values: own };
        const number = against === undefined ? decimal : signed;
        return { label, ...intervalRow(estimate, metric.digits, number) };
      }),
    }];
  });
  const { reading_error: error } = study.paper;
  return rowsChart(panels, {
    ...{ name, title: spec.title, width: spec.width },
    subtitle: "Not our runs. Rings: one seed each" +
      `${error > 0 ? `, read off the paper's figures to about ${error}` : ""}. Diamond and bar: ` +
      `mean and, ${intervalWords(study)}. Numbers: mean [interval], seeds.`,
    axis: axisTitle(metric, against && placeOf(study, against)),
    signed: against !== undefined,
    max: against === undefined ? metric.max : undefined,
  });
}

/** Means as bars, and what the paper prints in panels of its own. */
export function bars(study: Study, { name, spec }: Figure<Bars>): Chart {
  const metric = metricOf(study, spec.metric);
  const against = spec.change ? againstOf(study, spec.rows) : null;
  const ours = measuredPanels(study, spec, {
    rowOf: ({ at }) => {
      const row = measuredRow(study, { metric: spec.metric, at, against: null });
      const change = against === null || isAt(at, against)
        ? null
        : measuredRow(study, { metric: spec.metric, at, against });
      if (row === null || change === null) return row;
      const text = `${change.text.replace(/, \d+ seeds?$/, "")} ${changeUnit(metric)}`;
      return { ...row, text: `${row.text}; ${text}` };
    },
  });
  const theirs = printedPanels(study, spec);
  return rowsChart([...ours, ...theirs], {
    ...{ name, title: spec.title, width: spec.width },
    subtitle: `Bars: means over seeds. Rules: ${intervalWords(study)}. Numbers: mean ± standard ` +
      "deviation, seeds" +
      (against === null ? "." : "; change under the same seed, its interval.") +
      (theirs.length > 0 ? " Hollow: as the paper printed it." : ""),
    axis: axisTitle(metric),
    // What it is counted in is the paper's matter: it need not be our unit.
    printedAxis: `${metric.title}, as the paper printed it`,
    bars: true,
    max: metric.max,
    own: spec.axis === "own",
  });
}

/** What was measured, a panel for each place; a condition without a row is left out. */
function measuredPanels(study: Study, spec: Forest | Bars, { isShown = () => true, rowOf }: {
  readonly isShown?: (condition: Condition) => boolean;
  readonly rowOf: (condition: Condition) => Unlabelled | null;
}): RowPanel[] {
  const all = conditionsOf(study, spec.metric, spec.where);
  const rows = withOthers(all, spec.rows, spec.panels);
  const shown = all.filter(isShown);
  const named = labelAxes(shown, rows);
  return panelsOf(study, shown, { axes: spec.panels, where: spec.where })
    .map(({ title, members }): RowPanel => ({
      title,
      ours: true,
      rows: ordered(study, members, rows).flatMap((condition) => {
        const row = rowOf(condition);
        return row === null ? [] : [{ label: labelOf(study, condition.at, named), ...row }];
      }),
    })).filter((panel) => panel.rows.length > 0);
}

/** What the paper prints, a panel for each source and place. */
function printedPanels(study: Study, spec: Bars): RowPanel[] {
  return spec.sources.flatMap((source): RowPanel[] => {
    const values = study.published.filter((each) =>
      each.metric === spec.metric && each.source === source && each.value !== null &&
      each.against === null && fits(each.at, spec.where)
    );
    const own = withOthers(values, spec.rows, spec.panels);
    return [...Map.groupBy(values, ({ at }) => labelOf(study, at, spec.panels)).values()]
      .map((each) => ({
        title: paperTitle(study, { source, values: each, rows: own }),
        ours: false,
        rows: ordered(study, each, own).map((value) => ({
          label: labelOf(study, value.at, labelAxes(values, own)),
          ...{ values: [], mean: value.value!, interval: null, printed: [] },
          text: printedText(value),
        })),
      }));
  });
}

/** A condition's values, or its differences from another; `null` if no run says anything of them. */
function measuredRow(
  study: Study,
  contrast: Contrast,
  sources: readonly string[] = [],
): Unlabelled | null {
  const { metric: name, at, against } = contrast;
  const estimate = estimateOf(study, contrast);
  if (estimate === null) return null;
  const printed = sources.flatMap((source) => {
    const lookup = { metric: name, at, source };
    if (against === null) {
      const found = printedAt(study, lookup);
      return found?.value == null ? [] : [{ value: found.value, text: printedText(found), source }];
    }
    const found = printedChange(study, { ...lookup, against });
    if (found === undefined) return [];
    return [{ value: found.value, text: signed(found.value, found.digits), source }];
  });
  const { digits } = metricOf(study, name);
  const row = against === null
    ? spreadRow(estimate, digits)
    : intervalRow(estimate, digits, signed);
  return {
    ...row,
    printed: printed.map(({ value }) => value),
    text: [row.text, ...printed.map(({ source, text }) => `${source}: ${text}`)].join("; "),
  };
}

/** A row whose numbers are mean and standard deviation. */
function spreadRow({ values, mean, sd, n, interval }: Estimate, digits: number): Unlabelled {
  const spread = sd === null ? "" : ` ± ${decimal(sd, digits)}`;
  const text = `${decimal(mean, digits)}${spread}, ${counted(n, "seed")}`;
  return { values, mean, interval, printed: [], text };
}

/** A row whose numbers are mean and interval. */
function intervalRow(
  { values, mean, n, interval }: Estimate,
  digits: number,
  number: typeof signed,
): Unlabelled {
  const ends = interval === null ? "" : ` ${intervalText(interval, (end) => number(end, digits))}`;
  const text = `${number(mean, digits)}${ends}, ${counted(n, "seed")}`;
  return { values, mean, interval, printed: [], text };
}

/** Names a panel of what the paper printed. */
function paperTitle(
  study: Study,
  { source, values, rows }: {
    readonly source: string;
    readonly values: readonly PublishedValue[];
    readonly rows: readonly string[];
  },
): string {
  const axes = axesOf(values, rows).filter((axis) => axis !== study.seeds);
  const place = labelOf(study, pick(values[0]!.at, axes), axes);
  return `The paper's ${source}${place === "" ? "" : ` (${place})`}, not our runs`;
}

/** Axes beside the rows' on which all of some printed values agree. */
function axesOf(values: readonly PublishedValue[], rows: readonly string[]): string[] {
  return Object.keys(values[0]?.at ?? {}).filter((axis) =>
    !rows.includes(axis) && new Set(values.map(({ at }) => at[axis])).size === 1
  );
}

function placeOf(study: Study, at: At): string {
  return labelOf(study, at, Object.keys(at));
}

function intervalWords({ confidence }: Study): string {
  const level = percent(confidence).replace(" ", "\u00a0");
  return `from ${FEWEST_FOR_INTERVAL} seeds on, the ${level} Student t interval`;
}

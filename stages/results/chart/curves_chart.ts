/**
 * Learning curves: per dataset and encoding, validation accuracy and training loss by epoch, one
 * line per operator.
 *
 * @module
 */
import { counted, percent } from "../format.ts";
import { operatorTitle } from "../order.ts";
import type { Curve, Results } from "../results.ts";
import { emptyPanel } from "./delta_chart.ts";
import { type Chart, seriesLook, wrapText } from "../../../analysis/figures/theme.ts";
import { type Panel, panelsOf } from "./panels.ts";

const HEIGHT = 170;
const GAP = 70;

/**
 * The curves chart: thick lines are means over seeds, as far as every seed ran; thin lines are
 * single seeds.
 *
 * @param options.width Width of both panels together in pixels.
 */
export function curvesChart(
  results: Results,
  options: { readonly title?: string | undefined; readonly width: number },
): Chart {
  const title = options.title ?? "Learning curves";
  const panels = panelsOf(results, results.curves);
  const series = [...new Set(results.curves.map((curve) => operatorTitle(curve.operator)))];
  const subtitle = "Thick: mean over seeds, as far as every seed trained. Thin: single seeds.";
  const width = options.width + 220;
  return {
    name: "curves",
    title,
    description: panels.length === 0
      ? "There are no training histories to show."
      : panels.map(describe).join(" "),
    spec: {
      title: { text: title, subtitle: wrapText(subtitle, width * 0.17) },
      spacing: 24,
      vconcat: panels.length === 0
        ? [emptyPanel("No run has a training history", width)]
        : panels.map(({ title, members }, index) => ({
          title: { text: title, fontSize: 13, offset: 6 },
          spacing: 24,
          hconcat: [
            panel(members, {
              series,
              width: (width - GAP) / 2,
              field: "validationAccuracy",
              axis: "Validation accuracy, %",
              legend: index === 0,
              factor: 100,
            }),
            panel(members, {
              series,
              width: (width - GAP) / 2,
              field: "trainLoss",
              axis: "Training loss, nats",
              legend: false,
              factor: 1,
            }),
          ],
        })),
    },
  };
}

type Field = "validationAccuracy" | "trainLoss" | "validationLoss";

/** Mean over seeds at each epoch that every seed reached. */
export function meanCurve(
  curves: readonly Curve[],
  field: Field,
): { epoch: number; value: number }[] {
  const [first] = curves;
  if (first === undefined) return [];
  return first.epochs.flatMap(({ epoch }) => {
    const values = curves.flatMap((curve) =>
      curve.epochs.filter((each) => each.epoch === epoch).map((each) => each[field])
    );
    if (values.length < curves.length) return [];
    return [{ epoch, value: values.reduce((total, value) => total + value, 0) / values.length }];
  });
}

function panel(curves: readonly Curve[], options: {
  readonly series: readonly string[];
  readonly width: number;
  readonly field: Field;
  readonly axis: string;
  readonly legend: boolean;
  readonly factor: number;
}): Record<string, unknown> {
  const { field, factor, series } = options;
  const present = series.filter((name) =>
    curves.some((each) => operatorTitle(each.operator) === name)
  );
  const single = curves.flatMap((curve) =>
    curve.epochs.map((each) => ({
      series: operatorTitle(curve.operator),
      seed: curve.seed,
      epoch: each.epoch,
      value: each[field] * factor,
    }))
  );
  const means = present.flatMap((name) =>
    meanCurve(curves.filter((curve) => operatorTitle(curve.operator) === name), field)
      .map(({ epoch, value }) => ({ series: name, epoch, value: value * factor }))
  );
  const looks = series.map((_, index) => seriesLook(index));
  const legend = options.legend
    ? {
      title: null,
      orient: "top",
      direction: "horizontal",
      columns: 4,
      symbolSize: 90,
      symbolOpacity: 1,
    }
    : null;
  const first = Math.min(1, ...single.map((each) => each.epoch));
  const last = Math.max(1, ...single.map((each) => each.epoch));
  const encoding = {
    x: {
      field: "epoch",
      type: "quantitative",
      title: "Epoch",
      scale: { domain: [first, Math.max(last, first + 1)], nice: false, zero: false },
      axis: {
        grid: false,
        format: "d",
        labelFlush: false,
        labelOverlap: false,
        values: wholeTicks(first, last),
      },
    },
    y: {
      field: "value",
      type: "quantitative",
      title: options.axis,
      scale: { zero: false },
      axis: { tickCount: 5, minExtent: 32 },
    },
    color: {
      field: "series",
      type: "nominal",
      sort: series,
      scale: { domain: series, range: looks.map((look) => look.colour) },
      legend,
    },
  };
  return {
    width: options.width,
    height: HEIGHT,
    layer: [
      {
        data: { values: single },
        mark: { type: "line", strokeWidth: 0.8, opacity: 0.35 },
        encoding: { ...encoding, detail: { field: "seed" } },
      },
      {
        data: { values: means },
        mark: { type: "line", strokeWidth: 2.2 },
        encoding,
      },
      {
        data: { values: means },
        mark: { type: "point", filled: true, size: 34, opacity: 1 },
        encoding: {
          ...encoding,
          shape: {
            field: "series",
            type: "nominal",
            sort: series,
            scale: { domain: series, range: looks.map((look) => look.shape) },
            legend,
          },
        },
      },
    ],
  };
}

/** Whole epochs, at most a dozen of them, the first included. */
function wholeTicks(first: number, last: number): number[] {
  const step = Math.max(1, Math.ceil((last - first) / 10));
  return Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => first + i * step);
}

function describe({ title, members }: Panel<Curve>): string {
  const operators = [...new Set(members.map((curve) => curve.operator))];
  const parts = operators.map((operator) => {
    const own = members.filter((curve) => curve.operator === operator);
    const best = own.map((curve) =>
      Math.max(...curve.epochs.map((each) => each.validationAccuracy))
    );
    const mean = best.reduce((total, value) => total + value, 0) / best.length;
    return `${operatorTitle(operator)} reaches ${percent(mean)} % (${counted(own.length, "seed")})`;
  });
  return `${title}, mean best validation accuracy: ${parts.join("; ")}.`;
}

/**
 * Figure 1 of the paper: training and validation loss over iterations, a column for each text and
 * a line for each run.
 *
 * @module
 */
import { emptyPanel } from "../chart/delta_chart.ts";
import { type Chart, seriesLook, wrapText } from "../../../analysis/figures/theme.ts";
import { fixed } from "../format.ts";
import { sum } from "../../../analysis/statistics/sample.ts";
import type { Results } from "./results.ts";
import { labelOf, titleOf } from "./tables.ts";
import { variantLabel } from "./variants.ts";

const HEIGHT = 190;
const NARROWEST = 210;

type Field = "trainLoss" | "validationLoss";

/**
 * The losses chart: lines are means over seeds, bands reach from the lowest to the highest seed.
 *
 * @param options.width Width of all columns together in pixels.
 */
export function lossChart(
  results: Results,
  options: { readonly title?: string | undefined; readonly width: number },
): Chart {
  const title = options.title ?? "Losses while training";
  const datasets = results.datasets.map((each) => each.dataset)
    .filter((dataset) => results.curves.some((curve) => curve.dataset === dataset));
  const width = Math.max(NARROWEST, options.width / Math.max(1, datasets.length));
  const subtitle = "Lines: means over seeds. Bands: from the lowest to the highest seed. The " +
    "evaluation before the first step is left out.";
  return {
    name: "losses",
    title,
    description: datasets.length === 0
      ? "There are no training histories to show."
      : datasets.map((dataset) => describe(results, dataset)).join(" "),
    spec: {
      title: { text: title, subtitle: wrapText(subtitle, Math.max(70, options.width * 0.17)) },
      spacing: 28,
      // One legend above all panels: in a panel of its own it would push that panel down.
      resolve: { legend: { color: "shared" } },
      vconcat: datasets.length === 0
        ? [emptyPanel("No run has a training history", options.width)]
        : (["trainLoss", "validationLoss"] as const).map((field, row) => ({
          spacing: 28,
          resolve: { legend: { color: "shared" } },
          hconcat: datasets.map((dataset, column) =>
            panel(results, {
              dataset,
              field,
              width,
              first: column === 0,
              top: row === 0,
            })
          ),
        })),
    },
  };
}

function panel(results: Results, options: {
  readonly dataset: string;
  readonly field: Field;
  readonly width: number;
  readonly first: boolean;
  readonly top: boolean;
}): Record<string, unknown> {
  const { dataset, field } = options;
  const values = results.variants.flatMap((variant) =>
    spreadOf(results, { dataset, variant, field }).map((each) => ({
      series: variantLabel(variant),
      ...each,
    }))
  );
  const series = results.variants.map(variantLabel);
  const looks = series.map((_, index) => seriesLook(index));
  const last = Math.max(1, ...values.map((each) => each.iteration));
  const measure = field === "trainLoss" ? "Training loss" : "Validation loss";
  const x = {
    field: "iteration",
    type: "quantitative",
    title: "Iteration",
    scale: { domain: [0, last], nice: false },
    axis: { grid: false, tickCount: 4, format: "~s", labelFlush: false },
  };
  const color = {
    field: "series",
    type: "nominal",
    sort: series,
    scale: { domain: series, range: looks.map((look) => look.colour) },
    legend: {
      title: null,
      orient: "top",
      direction: "horizontal",
      columns: 6,
      symbolType: "stroke",
      symbolStrokeWidth: 3,
      symbolOpacity: 1,
    },
  };
  const y = {
    field: "mean",
    type: "quantitative",
    title: options.first ? `${measure}, nats` : null,
    // The topmost tick at the top of every panel: its label then lifts all titles alike.
    scale: { zero: false, nice: 5 },
    axis: { tickCount: 5, minExtent: 32 },
  };
  return {
    ...(options.top
      ? {
        title: { text: labelOf(results, dataset), fontSize: 13, offset: 6, limit: options.width },
      }
      : {}),
    width: options.width,
    height: HEIGHT,
    layer: [
      {
        data: { values: values.filter((each) => each.low < each.high) },
        mark: { type: "area", opacity: 0.14 },
        encoding: { x, y: { ...y, field: "low" }, y2: { field: "high" }, color },
      },
      {
        data: { values },
        mark: { type: "line", strokeWidth: 1.8 },
        encoding: {
          x,
          y,
          color,
          strokeDash: {
            field: "series",
            type: "nominal",
            sort: series,
            scale: { domain: series, range: looks.map((look) => look.dash) },
            legend: null,
          },
        },
      },
    ],
  };
}

/** Mean and range over seeds at each iteration at which every seed was evaluated, after the start. */
export function spreadOf(
  results: Results,
  at: { readonly dataset: string; readonly variant: string; readonly field: Field },
): { iteration: number; mean: number; low: number; high: number }[] {
  const curves = results.curves.filter((curve) =>
    curve.dataset === at.dataset && curve.variant === at.variant
  );
  return (curves[0]?.evaluations ?? []).flatMap(({ iteration }) => {
    const values = curves.flatMap((curve) =>
      curve.evaluations.filter((each) => each.iteration === iteration).map((each) => each[at.field])
    );
    if (iteration === 0 || values.length < curves.length) return [];
    const mean = sum(values) / values.length;
    return [{ iteration, mean, low: Math.min(...values), high: Math.max(...values) }];
  });
}

function describe(results: Results, dataset: string): string {
  const parts = results.conditions.filter((each) => each.dataset === dataset).map((each) =>
    `${variantLabel(each.variant)} ${fixed(each.mean, 4)}`
  );
  return `${titleOf(results, dataset)}, best validation loss in nats per character, mean over ` +
    `seeds: ${parts.join("; ")}.`;
}

/**
 * What the intensity predictors learned: their factors by position, block and head.
 *
 * @module
 */
import { emptyPanel } from "../chart/delta_chart.ts";
import { stretched } from "../chart/gates_chart.ts";
import { type Chart, INK, seriesLook, wrapText } from "../../../analysis/figures/theme.ts";
import { fixed } from "../format.ts";
import { sum } from "../../../analysis/statistics/sample.ts";
import type { Results } from "./results.ts";
import { labelOf, titleOf } from "./tables.ts";
import { isBypassed, variantLabel } from "./variants.ts";

const HEIGHT = 130;
const NARROWEST = 150;
/** Long contexts are drawn as means over this many stretches. */
const STRETCHES = 64;

type Profile = Results["intensities"][number];

/** The intensities chart: a row for each text, a column for each run that uses its predictors. */
export function profileChart(
  results: Results,
  options: { readonly title?: string | undefined; readonly width: number },
): Chart {
  const title = options.title ?? "Attention intensity by position";
  const used = results.intensities.filter((each) => !isBypassed(each.variant));
  const datasets = results.datasets.map((each) => each.dataset)
    .filter((dataset) => used.some((each) => each.dataset === dataset));
  const variants = results.variants.filter((name) => used.some((each) => each.variant === name));
  const blocks = [...new Set(used.map((each) => each.block))].sort((a, b) => a - b);
  const width = Math.max(NARROWEST, options.width / Math.max(1, variants.length));
  const subtitle = "Mean factor on held-out text, over seeds. Black: mean over blocks and heads. " +
    "Coloured: each block's heads. 1 leaves the attention scores as they are.";
  return {
    name: "intensities",
    title,
    description: datasets.length === 0
      ? "There are no intensities to show."
      : datasets.map((dataset) => describe(results, { dataset, variants, used })).join(" "),
    spec: {
      title: { text: title, subtitle: wrapText(subtitle, Math.max(70, options.width * 0.2)) },
      spacing: 24,
      vconcat: datasets.length === 0
        ? [emptyPanel("No run has intensities", options.width)]
        : datasets.map((dataset, row) => ({
          title: { text: labelOf(results, dataset), fontSize: 13, offset: 6 },
          spacing: 20,
          hconcat: variants.map((variant, column) =>
            panel(used.filter((each) => each.dataset === dataset && each.variant === variant), {
              variant,
              blocks,
              width,
              first: column === 0,
              last: row === datasets.length - 1,
              legend: row === 0 && column === 0,
            })
          ),
        })),
    },
  };
}

function panel(profiles: readonly Profile[], options: {
  readonly variant: string;
  readonly blocks: readonly number[];
  readonly width: number;
  readonly first: boolean;
  readonly last: boolean;
  readonly legend: boolean;
}): Record<string, unknown> {
  const { blocks } = options;
  const name = (block: number) => `Block ${block + 1}`;
  const single = profiles.flatMap(({ block, head, byPosition }) =>
    stretched(byPosition, STRETCHES).map((point) => ({ series: name(block), head, ...point }))
  );
  const mean = stretched(meanProfile(profiles), STRETCHES);
  const x = {
    field: "position",
    type: "quantitative",
    title: options.last ? "Position" : null,
    scale: { nice: false, zero: true },
    axis: { grid: false, tickCount: 4 },
  };
  const y = {
    field: "value",
    type: "quantitative",
    title: options.first ? "Intensity" : null,
    scale: { domain: [0, 1] },
    axis: { values: [0, 0.2, 0.4, 0.6, 0.8, 1], minExtent: 28 },
  };
  const domain = blocks.map(name);
  return {
    title: {
      text: variantLabel(options.variant),
      fontSize: 12,
      fontWeight: 400,
      offset: 4,
    },
    width: options.width,
    height: HEIGHT,
    layer: [
      {
        data: { values: single },
        mark: { type: "line", strokeWidth: 1, opacity: 0.75 },
        encoding: {
          x,
          y,
          detail: { field: "head" },
          color: {
            field: "series",
            type: "nominal",
            scale: { domain, range: blocks.map((_, i) => seriesLook(i).colour) },
            legend: options.legend
              ? {
                title: null,
                orient: "top",
                direction: "horizontal",
                columns: 6,
                symbolType: "stroke",
                symbolStrokeWidth: 3,
                symbolOpacity: 1,
              }
              : null,
          },
        },
      },
      {
        data: { values: mean },
        mark: { type: "line", strokeWidth: 2, color: INK },
        encoding: { x, y },
      },
    ],
  };
}

function meanProfile(profiles: readonly Profile[]): number[] {
  const length = Math.min(...profiles.map((each) => each.byPosition.length));
  if (!Number.isFinite(length)) return [];
  return Array.from(
    { length },
    (_, position) => sum(profiles.map((each) => each.byPosition[position]!)) / profiles.length,
  );
}

function describe(results: Results, options: {
  readonly dataset: string;
  readonly variants: readonly string[];
  readonly used: readonly Profile[];
}): string {
  const { dataset, variants, used } = options;
  const parts = variants.flatMap((variant) => {
    const mean = meanProfile(
      used.filter((each) => each.dataset === dataset && each.variant === variant),
    );
    if (mean.length === 0) return [];
    return [
      `${variantLabel(variant)} starts at ${fixed(mean[0]!, 2)} and ends at ${
        fixed(mean.at(-1)!, 2)
      }`,
    ];
  });
  return `${titleOf(results, dataset)}, mean over blocks and heads: ${parts.join("; ")}.`;
}

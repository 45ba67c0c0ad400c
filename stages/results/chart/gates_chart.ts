/**
 * What the gates learned: their value by position, one panel per dataset and encoding.
 *
 * @module
 */
import { counted, fixed } from "../format.ts";
import { operatorTitle } from "../order.ts";
import type { Gate, Results } from "../results.ts";
import { emptyPanel } from "./delta_chart.ts";
import { type Chart, seriesLook, wrapText } from "../../../analysis/figures/theme.ts";
import { type Panel, panelsOf } from "./panels.ts";

const HEIGHT = 150;
/** Long documents are drawn as means over this many stretches. */
const STRETCHES = 128;

/** Gate values by position: mean over seeds, single seeds behind it. */
export function gatesChart(
  results: Results,
  options: { readonly title?: string | undefined; readonly width: number },
): Chart {
  const title = options.title ?? "What the gates learned, by position";
  const width = options.width + 150;
  const panels = panelsOf(results, results.gates);
  const series = [...new Set(results.gates.map((gate) => operatorTitle(gate.operator)))];
  const subtitle =
    "1 keeps the token embedding alone, 0 the positional encoding alone. Thick: mean " +
    "over seeds. Thin: single seeds. Means over test documents that reach the position.";
  return {
    name: "gates",
    title,
    description: panels.length === 0
      ? "There are no gate values to show."
      : panels.map(describe).join(" "),
    spec: {
      title: { text: title, subtitle: wrapText(subtitle, width * 0.165) },
      spacing: 24,
      vconcat: panels.length === 0
        ? [emptyPanel("No evaluated operator has a gate", width)]
        : panels.map(({ title, members }, index) => ({
          title: { text: title, fontSize: 13, offset: 6 },
          ...panel(members, { series, width, legend: index === 0 }),
        })),
    },
  };
}

/** Means of a profile over at most `stretches` stretches of equal length; positions count from 0. */
export function stretched(
  byPosition: readonly number[],
  stretches: number,
): { position: number; value: number }[] {
  const length = Math.max(1, Math.ceil(byPosition.length / stretches));
  const points: { position: number; value: number }[] = [];
  for (let start = 0; start < byPosition.length; start += length) {
    const part = byPosition.slice(start, start + length);
    points.push({
      position: start + (part.length - 1) / 2,
      value: part.reduce((sum, value) => sum + value, 0) / part.length,
    });
  }
  return points;
}

/** Mean over seeds, as far as every seed's profile reaches. */
function meanProfile(gates: readonly Gate[]): number[] {
  const reach = Math.min(...gates.map((gate) => gate.byPosition.length));
  return Array.from(
    { length: reach },
    (_, position) =>
      gates.reduce((sum, gate) => sum + gate.byPosition[position]!, 0) / gates.length,
  );
}

function panel(gates: readonly Gate[], options: {
  readonly series: readonly string[];
  readonly width: number;
  readonly legend: boolean;
}): Record<string, unknown> {
  const { series } = options;
  const own = series.filter((name) => gates.some((gate) => operatorTitle(gate.operator) === name));
  const single = gates.flatMap((gate) =>
    stretched(gate.byPosition, STRETCHES).map((point) => ({
      series: operatorTitle(gate.operator),
      seed: gate.seed,
      ...point,
    }))
  );
  const means = own.flatMap((name) =>
    stretched(meanProfile(gates.filter((gate) => operatorTitle(gate.operator) === name)), STRETCHES)
      .map((point) => ({ series: name, ...point }))
  );
  const encoding = {
    x: {
      field: "position",
      type: "quantitative",
      title: "Position, tokens from the start",
      scale: { nice: false, zero: true },
      axis: { grid: false, tickCount: 8 },
    },
    y: {
      field: "value",
      type: "quantitative",
      title: "Gate",
      scale: { domain: [0, 1] },
      axis: { values: [0, 0.2, 0.4, 0.6, 0.8, 1], minExtent: 32 },
    },
    color: {
      field: "series",
      type: "nominal",
      scale: { domain: series, range: series.map((_, index) => seriesLook(index).colour) },
      legend: options.legend
        ? {
          title: null,
          orient: "top",
          direction: "horizontal",
          columns: 4,
          symbolType: "stroke",
          symbolStrokeWidth: 3,
          symbolOpacity: 1,
        }
        : null,
    },
    strokeDash: {
      field: "series",
      type: "nominal",
      scale: { domain: series, range: series.map((_, index) => seriesLook(index).dash) },
      legend: null,
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
      { data: { values: means }, mark: { type: "line", strokeWidth: 2.2 }, encoding },
    ],
  };
}

function describe({ title, members }: Panel<Gate>): string {
  const operators = [...new Set(members.map((gate) => gate.operator))];
  const parts = operators.map((operator) => {
    const own = members.filter((gate) => gate.operator === operator);
    const profile = meanProfile(own);
    return `${operatorTitle(operator)} starts at ${fixed(profile[0] ?? 0, 2)} and ends at ${
      fixed(profile.at(-1) ?? 0, 2)
    } (${counted(own.length, "seed")})`;
  });
  return `${title}: ${parts.join("; ")}.`;
}

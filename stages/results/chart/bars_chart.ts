/**
 * Means as bars with their intervals, ours and, in panels of their own, the paper's: Figures 4a
 * and 4b of "Fusion Matters".
 *
 * @module
 */
import { accuracyText, datasetTitle, kindLabel } from "../accuracy_table.ts";
import { fixed, percent } from "../format.ts";
import type { Latencies, TimedCondition } from "../latency/latencies.ts";
import { changeOf, latencyText } from "../latency/latency_tables.ts";
import {
  compareOperators,
  comparePaperDatasets,
  encodingTitle,
  operatorTitle,
  paperDataset,
} from "../order.ts";
import type { PaperTable } from "../paper/numbers.ts";
import type { Results } from "../results.ts";
import { emptyPanel } from "./delta_chart.ts";
import { type Chart, COLOURS, INK, rowAxis, wrapText } from "../../../analysis/figures/theme.ts";

const ROW_HEIGHT = 30;
/** Characters of 12-pixel type per pixel of width, for wrapping. */
const CHARACTERS_PER_PIXEL = 0.165;

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly interval: readonly [number, number] | null;
  readonly text: string;
}

interface Panel {
  readonly heading: string;
  readonly axis: string;
  readonly bars: readonly Bar[];
  /** Whether the bars are the paper's. */
  readonly printed: boolean;
}

interface Options {
  readonly title?: string | undefined;
  readonly width: number;
}

/**
 * Mean accuracies, Figure 4a.
 *
 * @param options.published The paper's accuracies, percent.
 */
export function accuracyBars(
  results: Results,
  options: Options & { readonly published: PaperTable },
): Chart {
  const axis = "Test accuracy, percent";
  const ours = results.datasets.flatMap((entry) => {
    const cells = results.conditions.filter((cell) => cell.dataset === entry.dataset);
    return cells.length === 0 ? [] : [{
      heading: `${datasetTitle(entry, entry.dataset)} · ${kindLabel(entry)}`,
      axis,
      printed: false,
      bars: cells.map((cell) => ({
        label: labelOf(cell, results.encodings.length > 1),
        value: cell.mean * 100,
        interval: cell.interval && [cell.interval[0] * 100, cell.interval[1] * 100] as const,
        text: accuracyText(cell),
      })),
    }];
  });
  const theirs = Object.keys(options.published).sort(comparePaperDatasets).map((dataset) => ({
    heading: `The paper's Table 2 and Figure 4a (${paperDataset(dataset)}), not our runs`,
    axis,
    printed: true,
    bars: Object.entries(options.published[dataset]!).sort(([a], [b]) => compareOperators(a, b))
      .map((
        [operator, [mean]],
      ) => ({
        label: operatorTitle(operator),
        value: mean,
        interval: null,
        text: `about ${fixed(mean, 0)}`,
      })),
  }));
  return barsChart([...ours, ...theirs], {
    name: "accuracy_bars",
    title: options.title ?? "Mean test accuracy by fusion operator",
    subtitle: `Bars: means over seeds. Rules: ${percent(results.confidence, 0)} % Student t ` +
      "intervals. Numbers: mean ± standard deviation.",
    width: options.width,
    end: 100,
  });
}

/** Latencies, Figure 4b. */
export function latencyBars(
  results: Results,
  options: Options & { readonly latencies: Latencies },
): Chart {
  const { latencies } = options;
  const several = new Set(latencies.conditions.map((each) => each.encoding)).size > 1;
  const ours = latencies.settings.map(({ dataset, batch }) => {
    const entry = results.datasets.find((each) => each.dataset === dataset);
    return {
      heading: `${datasetTitle(entry, dataset)} · ${kindLabel(entry)}, measured on this machine`,
      axis: `Milliseconds for ${batch} documents`,
      printed: false,
      bars: latencies.conditions.filter((each) => each.dataset === dataset).map((each) => ({
        label: labelOf(each, several),
        value: each.mean,
        interval: each.interval,
        text: latencyText(each) + changeText(each, results.baseline),
      })),
    };
  });
  const theirs = latencies.published.map((paper) => ({
    heading: `The paper's ${paper.figure} (${paperDataset(paper.dataset)}), not our runs`,
    axis: "Milliseconds; of what, the paper does not say",
    printed: true,
    bars: paper.operators.map(({ operator, words, milliseconds }) => ({
      label: operatorTitle(operator),
      value: milliseconds,
      interval: null,
      text: `${milliseconds}; by Table 2 “${words}”`,
    })),
  }));
  return barsChart([...ours, ...theirs], {
    name: "latency",
    title: options.title ?? "Inference latency by fusion operator",
    subtitle: `Bars: means over seeds of the median round. Rules: ${
      percent(results.confidence, 0)
    } % Student t intervals. Numbers: mean ± standard deviation; difference from ${
      operatorTitle(results.baseline)
    }, timed in turn with it, and its interval.`,
    width: options.width,
  });
}

function labelOf(
  { operator, encoding }: { readonly operator: string; readonly encoding: string },
  several: boolean,
): string {
  return operatorTitle(operator) + (several ? `, ${encodingTitle(encoding)}` : "");
}

function changeText({ change }: TimedCondition, baseline: string): string {
  if (change === null) return "";
  return `; ${changeOf(change)} % against ${operatorTitle(baseline)}`;
}

function barsChart(
  panels: readonly Panel[],
  options: {
    readonly name: string;
    readonly title: string;
    readonly subtitle: string;
    readonly width: number;
    /** Where every axis ends, if not at its longest bar. */
    readonly end?: number;
  },
): Chart {
  const { name, title, width } = options;
  const labels = panels.flatMap((panel) => panel.bars.map((bar) => bar.label));
  const extent = 12 + 7 * Math.max(4, ...labels.map((label) => label.length));
  const cut = panels.some(({ bars }) =>
    bars.some(({ interval }) =>
      interval !== null && (interval[0] < 0 || interval[1] > endOf(bars, options.end))
    )
  );
  const subtitle = options.subtitle + (cut ? " A rule that touches an edge runs on." : "");
  return {
    name,
    title,
    description: labels.length === 0
      ? "There is nothing to show."
      : panels.map((panel) =>
        `${panel.heading}: ${panel.bars.map((bar) => `${bar.label} ${bar.text}`).join("; ")}.`
      ).join(" "),
    spec: {
      title: {
        text: title,
        frame: "bounds",
        subtitle: wrapText(subtitle, (width + extent + 150) * CHARACTERS_PER_PIXEL),
      },
      spacing: 18,
      resolve: { scale: { x: "independent" } },
      vconcat: panels.length === 0
        ? [emptyPanel("No run was made", width)]
        : panels.map((panel) => panelSpec(panel, { ...options, extent })),
    },
  };
}

/** Where a panel's axis ends: an interval from two seeds may be many times as long as its bar. */
function endOf(bars: readonly Bar[], end: number | undefined): number {
  const ends = bars.map(({ value, interval }) =>
    Math.max(value, Math.min(interval?.[1] ?? 0, 1.5 * value))
  );
  return end ?? 1.05 * Math.max(...ends);
}

function panelSpec(
  { heading, axis, bars, printed }: Panel,
  options: { readonly width: number; readonly extent: number; readonly end?: number },
): Record<string, unknown> {
  const { width, extent } = options;
  const end = endOf(bars, options.end);
  const x = (field: string) => ({
    field,
    type: "quantitative",
    scale: { domain: [0, end], nice: false },
    axis: { title: axis, grid: true, tickCount: 8 },
  });
  const y = rowAxis(bars.map((bar) => bar.label), extent);
  const values = bars.map(({ label, value, text }) => ({ label, value, text }));
  const inside = (value: number) => Math.min(end, Math.max(0, value));
  return {
    title: { text: heading, fontSize: 13, offset: 4, frame: "bounds" },
    width,
    height: ROW_HEIGHT * bars.length,
    layer: [
      {
        data: { values },
        // The paper's are hollow: colour is not what tells them apart.
        mark: {
          type: "bar",
          height: 16,
          ...(printed
            ? { fill: null, stroke: COLOURS[1], strokeWidth: 1.6 }
            : { color: COLOURS[0] }),
        },
        encoding: { x: x("value"), y },
      },
      {
        data: {
          values: bars.flatMap(({ label, interval }) =>
            interval ? [{ label, low: inside(interval[0]), high: inside(interval[1]) }] : []
          ),
        },
        mark: { type: "rule", color: INK, strokeWidth: 2 },
        encoding: { x: x("low"), x2: { field: "high" }, y },
      },
      {
        data: { values },
        mark: { type: "text", align: "left", x: width + 12, fontSize: 12, color: INK },
        encoding: { text: { field: "text" }, y },
      },
    ],
  };
}

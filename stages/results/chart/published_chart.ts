/**
 * The paper's per-seed figures, redrawn from the values read off them in our form.
 *
 * @module
 */
import { percent } from "../format.ts";
import { encodingTitle, operatorTitle, paperDataset } from "../order.ts";
import type { Results } from "../results.ts";
import { pairedChart } from "./delta_chart.ts";
import type { Chart } from "../../../analysis/figures/theme.ts";

/** Figures 3, 5, 6 and 7 of the paper, one panel each. */
export function publishedChart(
  results: Results,
  options: { readonly title?: string | undefined; readonly width: number },
): Chart {
  const series = results.paper?.series ?? [];
  const figures = [...new Set(series.map((each) => each.figure))];
  const several = new Set(series.map((each) => each.encoding)).size > 1;
  const panels = figures.map((figure) => {
    const own = series.filter((each) => each.figure === figure);
    const datasets = [...new Set(own.map((each) => paperDataset(each.dataset)))].join(", ");
    return {
      heading: `The paper's ${figure} (${datasets})`,
      rows: own.map((each) => ({
        label: operatorTitle(each.operator) +
          (several ? `, ${encodingTitle(each.encoding)}` : ""),
        n: each.n,
        mean: each.mean ?? 0,
        interval: each.interval,
        values: each.deltas,
      })),
    };
  });
  const baseline = operatorTitle(results.baseline);
  return pairedChart(panels, {
    name: "published",
    title: options.title ?? `The paper's differences from ${baseline}, read off its figures`,
    subtitle: `Not our runs. Rings: one seed each, read to about 0.05 points. Diamond and bar: ` +
      `mean and ${
        percent(results.confidence, 0)
      } % Student t interval. Numbers: mean [interval], ` +
      "seeds.",
    axis: `Test accuracy minus ${baseline}'s, percentage points`,
    width: options.width,
  });
}

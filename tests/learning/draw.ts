/**
 * Draws docs/learning/*.svg from the committed curves and prints the table of docs/learning.md.
 *
 *     deno run -A tests/learning/draw.ts
 *
 * @module
 */
import { type Chart, seriesLook } from "../../analysis/figures/theme.ts";
import { renderSvg } from "../../analysis/figures/render.ts";
import { comparisons, outcome, table } from "./bands.ts";
import { type ClassifierRun, type LanguageRun, LEARNING, type Pair, readPair } from "./curves.ts";

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Panel {
  readonly title: string;
  readonly x: { readonly title: string; readonly domain: readonly [number, number] };
  readonly axis: string;
  /** Each side's runs, Lockstep's first. */
  readonly sides: readonly (readonly (readonly Point[])[])[];
}

const SIDES = ["Lockstep", "PyTorch"] as const;

/** A chart of panels side by side; thin lines are seeds, thick ones their means. */
function learningChart(
  frame: { readonly name: string; readonly title: string; readonly description: string },
  panels: readonly Panel[],
): Chart {
  return {
    ...frame,
    spec: {
      title: {
        text: frame.title,
        subtitle: "Thick: mean over three seeds. Thin: single seeds.",
      },
      spacing: 34,
      hconcat: panels.map(panelSpec),
    },
  };
}

function panelSpec({ title, x, axis, sides }: Panel): Record<string, unknown> {
  const looks = SIDES.map((_, index) => seriesLook(index));
  const inside = ({ x: at }: Point) => at >= x.domain[0] && at <= x.domain[1];
  const means = sides.map((runs) => meanOf(runs).filter(inside));
  const single = sides.flatMap((runs, side) =>
    runs.flatMap((run, seed) =>
      run.filter(inside).map((point) => ({ ...point, side: SIDES[side], seed: `${side}/${seed}` }))
    )
  );
  const thick = means.flatMap((points, side) =>
    points.map((point) => ({ ...point, side: SIDES[side] }))
  );
  const color = {
    field: "side",
    type: "nominal",
    scale: { domain: SIDES, range: looks.map((look) => look.colour) },
    legend: null,
  };
  const encoding = {
    x: {
      field: "x",
      type: "quantitative",
      title: x.title,
      scale: { domain: x.domain, nice: false, zero: false },
      axis: { grid: false, tickMinStep: 1, tickCount: 5, format: "d", labelFlush: false },
    },
    y: {
      field: "y",
      type: "quantitative",
      title: axis,
      // The topmost tick at the top of every panel: its label then lifts all titles alike.
      scale: { zero: false, nice: 5 },
      axis: { tickCount: 5, minExtent: 32 },
    },
    color,
  };
  const ends = means.map((points) => points.at(-1)!);
  return {
    title: { text: title, fontSize: 13, offset: 6 },
    width: 250,
    height: 210,
    layer: [
      {
        data: { values: single },
        mark: { type: "line", strokeWidth: 0.8, opacity: 0.45 },
        encoding: { ...encoding, detail: { field: "seed" } },
      },
      {
        data: { values: thick },
        mark: { type: "line", strokeWidth: 2.2 },
        encoding: {
          ...encoding,
          strokeDash: {
            field: "side",
            type: "nominal",
            scale: { domain: SIDES, range: looks.map((look) => look.dash) },
            legend: null,
          },
        },
      },
      ...SIDES.map((side, i) => ({
        data: { values: [{ ...ends[i]!, side }] },
        mark: {
          type: "text",
          text: side,
          align: "left",
          dx: 6,
          // One above the other even where the curves end in one point.
          dy: (ends[i]!.y > ends[1 - i]!.y || (ends[i]!.y === ends[1 - i]!.y && i === 0)) ? -8 : 8,
          fontSize: 12,
          fontWeight: 600,
        },
        encoding,
      })),
    ],
  };
}

/** The mean of runs that have the same x. */
function meanOf(runs: readonly (readonly Point[])[]): Point[] {
  return runs[0]!.map(({ x }, i) => ({
    x,
    y: runs.reduce((sum, run) => sum + run[i]!.y, 0) / runs.length,
  }));
}

function both<Run>({ ours, pytorch }: Pair<Run>, points: (run: Run) => Point[]) {
  return [ours, pytorch].map(({ runs }) => runs.map(points));
}

/** Both figures as SVG, by file name. */
export async function figures(
  language: Pair<LanguageRun>,
  classifier: Pair<ClassifierRun>,
): Promise<Record<string, string>> {
  const all = comparisons(language, classifier);
  const words = (text: string) =>
    all.filter((each) => each.text === text).map((each) => {
      const { ours, pytorch } = outcome(each);
      const digits = each.unit === "nats" ? 4 : 2;
      return `${each.figure}: Lockstep ${ours.toFixed(digits)}, PyTorch ${
        pytorch.toFixed(digits)
      } ${each.unit}`;
    }).join("; ");
  const last = language.ours.runs[0]!.evaluations.at(-1)!.iteration;
  const losses = both(
    language,
    (run) => run.evaluations.map((each) => ({ x: each.iteration, y: each.validation_loss })),
  );
  const iterations = (first: number): Panel["x"] => ({ title: "Iteration", domain: [first, last] });
  const epochs = { title: "Epoch", domain: [1, classifier.ours.runs[0]!.epochs.length] } as const;
  const byEpoch = (value: (epoch: ClassifierRun["epochs"][number]) => number) =>
    both(classifier, (run) => run.epochs.map((each) => ({ x: each.epoch, y: value(each) })));
  const charts = [
    learningChart({
      name: "tinyshakespeare",
      title: "A character model learns tinyshakespeare",
      description: `Means over three seeds: ${words("tinyshakespeare")}.`,
    }, [
      {
        title: "All of the training",
        x: iterations(0),
        axis: "Validation loss, nats per character",
        sides: losses,
      },
      {
        title: "Its second half",
        x: iterations(last / 2),
        axis: "Validation loss, nats per character",
        sides: losses,
      },
    ]),
    learningChart({
      name: "ag_news",
      title: "A classifier learns a sample of AG News",
      description: `Means over three seeds: ${words("AG News, sample")}.`,
    }, [
      {
        title: "Validation accuracy",
        x: epochs,
        axis: "Documents, %",
        sides: byEpoch((each) => each.validation_accuracy * 100),
      },
      {
        title: "Validation loss",
        x: epochs,
        axis: "Nats",
        sides: byEpoch((each) => each.validation_loss),
      },
      {
        title: "Training loss, under dropout",
        x: epochs,
        axis: "Nats",
        sides: byEpoch((each) => each.train_loss),
      },
    ]),
  ];
  const drawn: Record<string, string> = {};
  for (const chart of charts) drawn[`${chart.name}.svg`] = await renderSvg(chart);
  return drawn;
}

if (import.meta.main) {
  const language = readPair<LanguageRun>("tinyshakespeare");
  const classifier = readPair<ClassifierRun>("ag_news");
  for (const [name, svg] of Object.entries(await figures(language, classifier))) {
    Deno.writeTextFileSync(`${LEARNING}${name}`, svg);
  }
  for (const row of table(comparisons(language, classifier))) console.log(`| ${row.join(" | ")} |`);
}

/**
 * How far two implementations' runs may lie apart, declared in docs/learning.md before any run.
 *
 * @module
 */
import type { ClassifierRun, LanguageRun, Pair } from "./curves.ts";

/** A figure of which means over seeds are compared. */
export interface Compared {
  readonly text: string;
  readonly figure: string;
  readonly unit: "nats" | "points";
  readonly band: number;
  readonly ours: readonly number[];
  readonly pytorch: readonly number[];
}

/** Everything that has a band. */
export function comparisons(
  language: Pair<LanguageRun>,
  classifier: Pair<ClassifierRun>,
): Compared[] {
  const compared = <Run>(
    { ours, pytorch }: Pair<Run>,
    what: Omit<Compared, "ours" | "pytorch">,
    value: (run: Run) => number,
  ): Compared => ({ ...what, ours: ours.runs.map(value), pytorch: pytorch.runs.map(value) });
  const news = "AG News, sample";
  const epochs = classifier.ours.runs[0]!.epochs.map(({ epoch }) => epoch);
  return [
    compared(language, {
      text: "tinyshakespeare",
      figure: "loss on the validation text",
      unit: "nats",
      band: 0.02,
    }, (run) => run.heldOutLoss),
    compared(classifier, {
      text: news,
      figure: "test accuracy",
      unit: "points",
      band: 1.5,
    }, (run) => run.testAccuracy * 100),
    compared(classifier, {
      text: news,
      figure: "training loss, last epoch",
      unit: "nats",
      band: 0.02,
    }, (run) => run.epochs.at(-1)!.train_loss),
    ...epochs.map((epoch, i) =>
      compared(classifier, {
        text: news,
        figure: `validation accuracy, epoch ${epoch}`,
        unit: "points",
        band: 2.5,
      }, (run) => run.epochs[i]!.validation_accuracy * 100)
    ),
    ...epochs.map((epoch, i) =>
      compared(classifier, {
        text: news,
        figure: `validation loss, epoch ${epoch}`,
        unit: "nats",
        band: 0.08,
      }, (run) => run.epochs[i]!.validation_loss)
    ),
  ];
}

/** A comparison's outcome. */
export interface Outcome {
  /** Means over seeds. */
  readonly ours: number;
  readonly pytorch: number;
  readonly difference: number;
  /** Of the difference, as the seeds of either side vary. */
  readonly standardError: number;
  readonly within: boolean;
}

/** Means, their difference, its standard error √(s₁²/n₁ + s₂²/n₂), and whether the band holds. */
export function outcome({ ours, pytorch, band }: Compared): Outcome {
  const [a, b] = [moments(ours), moments(pytorch)];
  const difference = a.mean - b.mean;
  return {
    ours: a.mean,
    pytorch: b.mean,
    difference,
    standardError: Math.sqrt(a.variance / ours.length + b.variance / pytorch.length),
    within: Math.abs(difference) <= band,
  };
}

function moments(values: readonly number[]): { mean: number; variance: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, variance: squares / (values.length - 1) };
}

/** The outcomes as rows of a Markdown table. */
export function table(all: readonly Compared[]): string[][] {
  return all.map((each) => {
    const found = outcome(each);
    const digits = each.unit === "nats" ? 4 : 2;
    const number = (value: number) => value.toFixed(digits).replace("-", "−");
    return [
      each.text,
      `${each.figure}, ${each.unit}`,
      number(found.ours),
      number(found.pytorch),
      number(found.difference),
      number(found.standardError),
      `${each.band}`,
    ];
  });
}

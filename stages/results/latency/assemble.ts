/**
 * From single timings to the latencies document.
 *
 * @module
 */
import { StageError } from "../../../pipeline/errors.ts";
import type { Claim } from "../claims/claim.ts";
import { type Contrast, judgeClaims } from "../claims/judge.ts";
import type { Latency, Located } from "../inputs.ts";
import { compareEncodings, compareOperators, compareText } from "../order.ts";
import type { PaperLatency, PaperTable } from "../paper/numbers.ts";
import type { Results } from "../results.ts";
import {
  alphaOf,
  median,
  type SampleSummary,
  sum,
  summarize,
} from "../../../analysis/statistics/sample.ts";
import type { Latencies, TimedCondition } from "./latencies.ts";

/** One model, timed beside others. */
interface Timed {
  readonly dataset: string;
  readonly encoding: string;
  readonly operator: string;
  readonly seed: number;
  readonly sha256: string;
  readonly file: Latency;
  readonly model: Latency["models"][number];
}

/**
 * Builds the latencies document. A difference is taken between two models under one seed: round by
 * round, since a slow moment of the machine hits both, and then the median of the rounds. So a seed
 * gives one difference, and what is judged is how seeds, each of a process of its own, agree;
 * rounds of one process are no independent runs.
 *
 * @throws {StageError} If two models have the same dataset, encoding, operator and seed.
 */
export function assembleLatencies(
  artifacts: readonly Located<Latency>[],
  options: {
    readonly results: Results;
    readonly published: readonly PaperLatency[];
    readonly accuracies: PaperTable;
    readonly claims: readonly Claim[];
  },
): Latencies {
  const { results, published } = options;
  const rank = new Map(results.datasets.map((entry, index) => [entry.dataset, index]));
  const timed = artifacts.flatMap(({ at, sha256, value }) =>
    value.models.map((model): Timed => ({
      dataset: at["dataset"] ?? "data",
      encoding: model.encoding,
      operator: model.operator,
      seed: model.seed,
      sha256,
      file: value,
      model,
    }))
  ).sort((a, b) =>
    (rank.get(a.dataset) ?? rank.size) - (rank.get(b.dataset) ?? rank.size) ||
    compareText(a.dataset, b.dataset) || compareEncodings(a.encoding, b.encoding) ||
    compareOperators(a.operator, b.operator) || a.seed - b.seed
  );
  timed.forEach((each, index) => {
    const next = timed[index + 1];
    if (next !== undefined && same(each, next) && each.seed === next.seed) {
      throw new StageError(
        "Cannot aggregate latency.latency: dataset, encoding, operator and seed must differ between " +
          `models, found two of ${each.dataset}/${each.encoding}/${each.operator}/${each.seed}`,
      );
    }
  });
  const evidence = timed.filter((each) => isFullSize(each, options));
  const firsts = timed.filter((each, index) => index === 0 || !same(each, timed[index - 1]!));
  return {
    format: "lockstep-latencies/1",
    backends: [...new Set(timed.map(({ file }) => file.backend))].sort(),
    conditions: firsts.map((first): TimedCondition => {
      const own = timed.filter((each) => same(each, first));
      const runs = own.map(runOf);
      const changes = [...changesOf(timed, { ...first, against: results.baseline }).values()];
      return {
        dataset: first.dataset,
        encoding: first.encoding,
        operator: first.operator,
        ...plain(summarize(runs.map((run) => run.median), results.confidence)),
        msPerDocument: sum(runs.map((run) => run.msPerDocument)) / runs.length,
        change: first.operator === results.baseline || changes.length === 0
          ? null
          : plain(summarize(changes, results.confidence)),
        fullSize: own.every((each) => evidence.includes(each)),
        runs,
      };
    }),
    settings: [...new Set(timed.map((each) => each.dataset))].map((dataset) => {
      const { file, model } = timed.find((each) => each.dataset === dataset)!;
      const { documents, batch, tokensPerDocument, warmUp } = file;
      return { dataset, documents, batch, tokensPerDocument, warmUp, rounds: model.passMs.length };
    }),
    claims: judgeClaims(options.claims.filter((claim) => claim.metric === "latency"), {
      datasets: results.datasets,
      alpha: alphaOf(results.confidence),
      differences: (contrast) => changesOf(evidence, contrast),
    }),
    published: [...published],
    accuracies: options.accuracies,
  };
}

function same(a: Timed, b: Timed): boolean {
  return a.dataset === b.dataset && a.encoding === b.encoding && a.operator === b.operator;
}

/** In a small model, or on short documents, the fusion is another share of the whole. */
function isFullSize(
  { dataset, file, model }: Timed,
  options: { readonly results: Results; readonly published: readonly PaperLatency[] },
): boolean {
  const entry = options.results.datasets.find((each) => each.dataset === dataset);
  const paper = options.published.find((each) => each.dataset === dataset);
  if (paper === undefined || entry?.corpus?.source.kind === "synthetic") return false;
  const size: Readonly<Record<string, number>> = { ...model.size, batch: file.batch };
  return Object.entries(paper.size).every(([name, value]) => size[name] === value);
}

function runOf({ seed, sha256, file, model }: Timed): TimedCondition["runs"][number] {
  const batches = model.passMs.map((ms) => ms / file.batches);
  const { mean, sd } = summarize(batches);
  return {
    seed,
    sha256,
    rounds: batches.length,
    median: median(batches),
    mean,
    sd,
    least: Math.min(...batches),
    most: Math.max(...batches),
    msPerDocument: median(model.passMs) / file.documents,
    tokensPerDocument: file.tokensPerDocument,
  };
}

/** By seed, the median over the rounds of the share by which one operator takes longer. */
function changesOf(timed: readonly Timed[], contrast: Contrast): Map<number, number> {
  const { dataset, encoding, operator, against } = contrast;
  const of = (name: string) =>
    timed.filter((each) =>
      each.dataset === dataset && each.encoding === encoding && each.operator === name
    );
  const base = of(against);
  return new Map(
    of(operator).flatMap(({ seed, file, model }) => {
      // Models of different files were not timed beside each other.
      const other = base.find((each) => each.seed === seed && each.file === file)?.model;
      if (other === undefined) return [];
      return [
        [seed, median(model.passMs.map((ms, round) => ms / other.passMs[round]! - 1))] as const,
      ];
    }),
  );
}

function plain({ n, mean, sd, interval }: SampleSummary) {
  return { n, mean, sd, interval: interval && [interval[0], interval[1]] as [number, number] };
}

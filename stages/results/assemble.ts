/**
 * From single runs to the results document: groups by condition, pairs by seed.
 *
 * @module
 */
import { StageError } from "../../pipeline/errors.ts";
import type { Claim } from "./claims/claim.ts";
import { accuracyDifferences, judgeClaims } from "./claims/judge.ts";
import type { Corpus, History, Located, Metrics } from "./inputs.ts";
import { compareDatasets, compareEncodings, compareOperators } from "./order.ts";
import type { PaperLatency, Series, Tables } from "./paper/numbers.ts";
import { reanalyse } from "./paper/reanalysis.ts";
import type { Condition, Delta, Results } from "./results.ts";
import { alphaOf, sum, summarize } from "../../analysis/statistics/sample.ts";

export interface AssembleOptions {
  readonly experiment: string;
  /** The operator every other one is paired with. */
  readonly baseline: string;
  readonly confidence: number;
  /** What the paper printed. */
  readonly published: Tables;
  readonly paperDeltas: readonly Series[];
  readonly paperLatencies: readonly PaperLatency[];
  readonly paperSeeds: number;
  /** dataset → documents of the whole data set. */
  readonly paperDocuments: Readonly<Record<string, number>>;
  /** dataset → size of the paper's model, by the names that metrics have. */
  readonly paperModels: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly claims: readonly Claim[];
}

interface Run {
  readonly dataset: string;
  readonly encoding: string;
  readonly operator: string;
  readonly seed: number;
  readonly metrics: Metrics;
}

/** The place of a run in the grid; what its coordinates leave out is taken from its content. */
export function placeOf(
  { at, value }: Pick<Located<{ fusion: string; encoding: string; seed: number }>, "at" | "value">,
): Cell {
  return {
    dataset: datasetOf(at),
    encoding: value.encoding,
    operator: at["operator"] ?? value.fusion,
    seed: value.seed,
  };
}

/** The data set that an artifact's coordinates name. */
export function datasetOf(at: Located<unknown>["at"]): string {
  return at["dataset"] ?? "data";
}

/**
 * Builds the results document.
 *
 * Runs are paired by seed within a dataset and an encoding. A published number is put beside a
 * condition only where the data is the paper's, whole or sampled, never beside synthetic data.
 *
 * @throws {StageError} If two runs have the same dataset, encoding, operator and seed.
 */
export function assembleResults(
  artifacts: {
    readonly runs: readonly Located<Metrics>[];
    readonly histories: readonly Located<History>[];
    readonly corpora: readonly Located<Corpus>[];
  },
  options: AssembleOptions,
): Results {
  const runs = artifacts.runs.map((each): Run => ({
    ...placeOf(each),
    metrics: each.value,
  }));
  const histories = artifacts.histories.map((each) => ({ ...placeOf(each), value: each.value }));
  refuseTwins(runs, "evaluate.metrics");
  refuseTwins(histories, "train.history");

  const corpora = new Map(artifacts.corpora.map(({ at, value }) => {
    const dataset = datasetOf(at);
    return [dataset, asSample(value, options.paperDocuments[dataset])];
  }));
  const names = unique([...corpora.keys(), ...runs.map((run) => run.dataset)]);
  const datasets = names
    .map((dataset) => ({
      dataset,
      majorityShare: runs.find((run) => run.dataset === dataset)?.metrics.majorityShare ?? null,
      corpus: corpora.get(dataset) ?? null,
      smaller: runs.some((run) =>
        run.dataset === dataset &&
        Object.entries(options.paperModels[dataset] ?? {}).some(([name, value]) =>
          run.metrics.size[name] !== value
        )
      ),
    }))
    .sort(compareDatasets);
  const datasetRank = new Map(datasets.map((entry, index) => [entry.dataset, index]));
  const compare = (a: Cell, b: Cell) =>
    (datasetRank.get(a.dataset) ?? 0) - (datasetRank.get(b.dataset) ?? 0) ||
    compareEncodings(a.encoding, b.encoding) ||
    compareOperators(a.operator, b.operator) || a.seed - b.seed;
  runs.sort(compare);
  histories.sort(compare);

  const conditions = summarizeConditions(runs, corpora, options);
  const alpha = alphaOf(options.confidence);
  return {
    format: "lockstep-results/1",
    experiment: options.experiment,
    baseline: options.baseline,
    confidence: options.confidence,
    protocols: unique(histories.map((history) => history.value.protocol)).sort(),
    encodings: unique(runs.map((run) => run.encoding)).sort(compareEncodings),
    operators: unique(runs.map((run) => run.operator)).sort(compareOperators),
    seeds: unique(runs.map((run) => run.seed)).sort((a, b) => a - b),
    datasets,
    conditions,
    deltas: pairWithBaseline(conditions, options),
    curves: histories.map(({ dataset, encoding, operator, seed, value }) => ({
      dataset,
      encoding,
      operator,
      seed,
      protocol: value.protocol,
      parameters: value.parameters,
      steps: value.steps,
      bestEpoch: value.bestEpoch,
      epochs: value.epochs,
    })),
    gates: runs.flatMap(({ dataset, encoding, operator, seed, metrics }) =>
      metrics.gate
        ? [{ dataset, encoding, operator, seed, byPosition: metrics.gate.byPosition }]
        : []
    ),
    claims: judgeClaims(options.claims.filter((claim) => claim.metric === "accuracy"), {
      datasets,
      alpha,
      differences: accuracyDifferences(conditions),
    }),
    paper: Object.keys(options.published).length + options.paperDeltas.length +
          options.paperLatencies.length === 0
      ? null
      : reanalyse({
        tables: options.published,
        series: options.paperDeltas,
        latencies: options.paperLatencies,
        claims: options.claims,
        seeds: options.paperSeeds,
        baseline: options.baseline,
        alpha,
      }),
    missing: missingCells(conditions),
  };
}

/** Share of a data set's documents that counts as all: some rows have no word and are dropped. */
const WHOLE = 0.99;

/**
 * Relabels a corpus as a sample if a subset was taken of it, or if it holds fewer documents than
 * the whole data set.
 */
function asSample(corpus: Corpus, whole: number | undefined): Corpus {
  const { kind, note } = corpus.source;
  if (kind !== "official") return corpus;
  const splits = Object.values(corpus.splits);
  const documents = sum(splits.map((split) => split.documents));
  const available = sum(splits.map((split) => split.available ?? split.documents));
  if (documents === available && (whole === undefined || documents >= WHOLE * whole)) {
    return corpus;
  }
  const text = `${note} Only ${documents} of the ${whole ?? available} documents were used.`;
  return { ...corpus, source: { ...corpus.source, kind: "sample", note: text.trim() } };
}

type Cell = Pick<Run, "dataset" | "encoding" | "operator" | "seed">;

function summarizeConditions(
  runs: readonly Run[],
  corpora: ReadonlyMap<string, Corpus>,
  options: AssembleOptions,
): Condition[] {
  const groups = new Map<string, Run[]>();
  for (const run of runs) {
    const key = JSON.stringify([run.dataset, run.encoding, run.operator]);
    groups.set(key, [...groups.get(key) ?? [], run]);
  }
  return [...groups.values()].map((group) => {
    const { dataset, encoding, operator } = group[0]!;
    const { n, mean, sd, interval } = summarize(
      group.map((run) => run.metrics.accuracy),
      options.confidence,
    );
    return {
      dataset,
      encoding,
      operator,
      n,
      mean,
      sd,
      interval: interval && [interval[0], interval[1]],
      published: publishedFor(group[0]!, corpora.get(dataset), options.published),
      runs: group.map(({ seed, metrics }) => ({
        seed,
        accuracy: metrics.accuracy,
        correct: metrics.correct,
        documents: metrics.documents,
        lossNats: metrics.lossNats,
      })),
    };
  });
}

/** What each of the paper's tables prints for a condition; the tables repeat some, and differ. */
function publishedFor(
  cell: Cell,
  corpus: Corpus | undefined,
  published: Tables,
): Condition["published"] {
  if (corpus === undefined || corpus.source.kind === "synthetic") return [];
  return Object.keys(published).sort().flatMap((table) => {
    const cells = published[table]?.[cell.dataset];
    // Tables without an encoding in their keys are of the sinusoidal encoding.
    const plain = cell.encoding === "sinusoidal" ? cells?.[cell.operator] : undefined;
    const found = plain ?? cells?.[`${cell.encoding}.${cell.operator}`];
    if (found === undefined) return [];
    const [mean, spread] = found;
    return [{ table, mean: mean / 100, spread: spread === undefined ? null : spread / 100 }];
  });
}

/** The difference of two conditions as the first table that prints both has it. */
function publishedDelta(condition: Condition, base: Condition): number | null {
  for (const { table, mean } of condition.published) {
    const other = base.published.find((each) => each.table === table);
    if (other !== undefined) return mean - other.mean;
  }
  return null;
}

function pairWithBaseline(conditions: readonly Condition[], options: AssembleOptions): Delta[] {
  return conditions.flatMap((condition) => {
    const { dataset, encoding, operator } = condition;
    if (operator === options.baseline) return [];
    const base = conditions.find((other) =>
      other.dataset === dataset && other.encoding === encoding &&
      other.operator === options.baseline
    );
    const pairs = condition.runs.flatMap((run) => {
      const partner = base?.runs.find((other) => other.seed === run.seed);
      if (partner === undefined) return [];
      if (partner.documents !== run.documents) {
        throw new StageError(
          `Cannot pair ${dataset}/${operator}/${run.seed} with ${options.baseline}: both must be ` +
            `evaluated on the same documents, found ${run.documents} and ${partner.documents}; ` +
            "evaluate both again",
        );
      }
      // From counts: exact up to one rounding, unlike the difference of two rounded accuracies.
      return [{ seed: run.seed, delta: (run.correct - partner.correct) / run.documents }];
    });
    if (base === undefined || pairs.length === 0) return [];
    const deltas = pairs.map((pair) => pair.delta);
    const { n, mean, sd, interval } = summarize(deltas, options.confidence);
    return [{
      dataset,
      encoding,
      operator,
      baseline: options.baseline,
      n,
      mean,
      sd,
      interval: interval && [interval[0], interval[1]] as [number, number],
      positive: deltas.filter((delta) => delta > 0).length,
      negative: deltas.filter((delta) => delta < 0).length,
      pairs,
      published: publishedDelta(condition, base),
    }];
  });
}

/** Seeds that some runs have and a condition lacks. Conditions without a run were not asked for. */
function missingCells(conditions: readonly Condition[]): Cell[] {
  const seeds = unique(conditions.flatMap((cell) => cell.runs.map((run) => run.seed)));
  seeds.sort((a, b) => a - b);
  return conditions.flatMap(({ dataset, encoding, operator, runs }) =>
    seeds.filter((seed) => runs.every((run) => run.seed !== seed))
      .map((seed) => ({ dataset, encoding, operator, seed }))
  );
}

function refuseTwins(cells: readonly Cell[], what: string): void {
  const seen = new Set<string>();
  for (const cell of cells) {
    const key = cellKey(cell);
    if (seen.has(key)) {
      throw new StageError(
        `Cannot aggregate ${what}: dataset, encoding, operator and seed must differ between runs, ` +
          `found two of ${cell.dataset}/${cell.encoding}/${cell.operator}/${cell.seed}; select ` +
          "one of them in the wiring of aggregate",
      );
    }
    seen.add(key);
  }
}

function cellKey(cell: Cell): string {
  return JSON.stringify([cell.dataset, cell.encoding, cell.operator, cell.seed]);
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

/**
 * From single runs of the language models to the results document.
 *
 * @module
 */
import { StageError } from "../../../pipeline/errors.ts";
import type { Corpus, Located } from "../inputs.ts";
import { compareDatasets } from "../order.ts";
import { alphaOf, sum, summarize } from "../../../analysis/statistics/sample.ts";
import { AVERAGE, type Claim, type Comparison } from "./claim.ts";
import { findingsOf } from "./findings.ts";
import type { History, Metrics, Published } from "./inputs.ts";
import { type Differences, judge } from "./judge.ts";
import type { Condition, Results } from "./results.ts";
import { BASELINE, compareVariants, variantName } from "./variants.ts";

export interface AssembleOptions {
  readonly experiment: string;
  readonly confidence: number;
  readonly published: Published;
  readonly claims: readonly Claim[];
}

/** The place of a run in the grid. */
export interface Place {
  readonly dataset: string;
  readonly variant: string;
  readonly seed: number;
}

/** The text that an artifact's coordinates name. */
export function datasetOf(at: Located<unknown>["at"]): string {
  return at["dataset"] ?? "text";
}

/** The place of an artifact; what its coordinates leave out is taken from its content. */
export function placeOf(
  { at, value }: Located<{ run: number; bypass: boolean; seed: number }>,
): Place {
  return { dataset: datasetOf(at), variant: at["run"] ?? variantName(value), seed: value.seed };
}

/**
 * Builds the results document. Runs are paired by seed; a published number is put beside a
 * condition only where the text is the paper's or a sample of it.
 *
 * @throws {StageError} If two runs have the same dataset, variant and seed, or a history has no
 * evaluated run.
 */
export function assembleResults(
  artifacts: {
    readonly runs: readonly Located<Metrics>[];
    readonly histories: readonly Located<History>[];
    readonly corpora: readonly Located<Corpus>[];
  },
  options: AssembleOptions,
): Results {
  const corpora = new Map(artifacts.corpora.map(({ at, value }) => {
    const dataset = datasetOf(at);
    return [dataset, asSample(value, options.published.characters[dataset])];
  }));
  const metrics = artifacts.runs.map((each) => ({ ...placeOf(each), value: each.value }));
  const histories = artifacts.histories.map((each) => ({ ...placeOf(each), value: each.value }));
  refuseTwins(metrics, "evaluate.metrics");
  refuseTwins(histories, "train.history");
  const names = unique([...corpora.keys(), ...histories.map((each) => each.dataset)]);
  const datasets = names
    .map((dataset) => ({ dataset, corpus: corpora.get(dataset) ?? null }))
    .sort(compareDatasets);
  const rank = new Map(datasets.map((entry, index) => [entry.dataset, index]));
  const compare = (a: Place, b: Place) =>
    (rank.get(a.dataset) ?? 0) - (rank.get(b.dataset) ?? 0) ||
    compareVariants(a.variant, b.variant) || a.seed - b.seed;
  metrics.sort(compare);
  histories.sort(compare);

  const groups = grouped(histories);
  const conditions = groups.map((group): Condition => {
    const { dataset, variant } = group[0]!;
    const runs = group.map(({ seed, value }) => ({
      seed,
      best: value.bestValidationLoss,
      bestIteration: value.bestIteration,
      steps: value.steps,
      parameters: value.parameters,
      splits: metrics.find((each) =>
        each.dataset === dataset && each.variant === variant && each.seed === seed
      )?.value.splits ?? [],
    }));
    const corpus = corpora.get(dataset);
    return {
      dataset,
      variant,
      ...summaryOf(
        runs.map((run) =>
          run.best
        ),
        options.confidence,
      ),
      published: corresponds(corpus) ? options.published.losses[dataset]?.[variant] ?? null : null,
      fullSize: corresponds(corpus) &&
        isFullSize(metrics.filter((each) => each.dataset === dataset && each.variant === variant), {
          model: options.published.model,
        }) &&
        runs.every((run) => run.steps >= (options.published.iterations[dataset] ?? Infinity)),
      runs,
    };
  });
  const evidence = { conditions, corpora, all: Object.keys(options.published.losses) };
  return {
    format: "lockstep-intensity/1",
    experiment: options.experiment,
    confidence: options.confidence,
    variants: unique(histories.map((each) => each.variant)).sort(compareVariants),
    seeds: unique(histories.map((each) => each.seed)).sort((a, b) => a - b),
    datasets,
    conditions,
    deltas: deltasOf(conditions, options.confidence),
    averages: averagesOf(conditions, options.published),
    curves: histories.map(({ dataset, variant, seed, value }) => ({
      dataset,
      variant,
      seed,
      evaluations: value.evaluations,
    })),
    intensities: intensitiesOf(metrics),
    claims: judge(options.claims.filter((claim) => claim.metric === "loss"), {
      alpha: alphaOf(options.confidence),
      differences: (comparison) => lossDifferences(comparison, evidence),
    }),
    findings: findingsOf(options.published),
    missing: missingPlaces(histories).sort(compare),
  };
}

/** Whether numbers on this text may be put beside the paper's. */
export function corresponds(corpus: Corpus | null | undefined): boolean {
  return corpus !== null && corpus !== undefined && corpus.source.kind !== "synthetic";
}

function asSample(corpus: Corpus, whole: number | undefined): Corpus {
  const { kind, note } = corpus.source;
  const characters = sum(Object.values(corpus.splits).map((split) => split.tokens));
  if (whole === undefined || kind !== "official" || characters >= 0.99 * whole) return corpus;
  const text = `${note} Only ${characters} of the ${whole} characters were used.`;
  return { ...corpus, source: { ...corpus.source, kind: "sample", note: text.trim() } };
}

/** Whether all models are of the paper's size; not if none was evaluated. */
function isFullSize(
  metrics: readonly { readonly value: Metrics }[],
  { model }: { model: Published["model"] },
): boolean {
  if (model === undefined || metrics.length === 0) return false;
  const sizes = ["context", "d", "heads", "layers"] as const;
  return metrics.every(({ value }) => sizes.every((size) => value.shape[size] === model[size]));
}

function refuseTwins(places: readonly Place[], what: string): void {
  const seen = new Set<string>();
  for (const { dataset, variant, seed } of places) {
    const name = `${dataset}/${variant}/${seed}`;
    if (seen.has(name)) {
      throw new StageError(
        `Cannot gather ${what}: dataset, run and seed must differ between runs, found two of ` +
          `${name}; add the axis that differs to the stage's each`,
      );
    }
    seen.add(name);
  }
}

/** Runs of one condition, conditions in order. */
function grouped<T extends Place>(places: readonly T[]): T[][] {
  const groups = new Map<string, T[]>();
  for (const place of places) {
    const name = `${place.dataset}/${place.variant}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [place]);
    else group.push(place);
  }
  return [...groups.values()];
}

function summaryOf(values: readonly number[], confidence: number) {
  const { n, mean, sd, interval } = summarize(values, confidence);
  return { n, mean, sd, interval: interval && [interval[0], interval[1]] as [number, number] };
}

/** Losses minus those of another variant under the same seed, by seed. */
function pairsOf(
  conditions: readonly Condition[],
  { dataset, run, against }: { dataset: string; run: string; against: string },
): { seed: number; delta: number }[] {
  const find = (variant: string) =>
    conditions.find((each) => each.dataset === dataset && each.variant === variant)?.runs ?? [];
  const others = find(against);
  return find(run).flatMap(({ seed, best }) => {
    const other = others.find((each) => each.seed === seed);
    return other === undefined ? [] : [{ seed, delta: best - other.best }];
  });
}

function deltasOf(conditions: readonly Condition[], confidence: number): Results["deltas"] {
  return conditions.filter((each) => each.variant !== BASELINE).flatMap((each) => {
    const { dataset, variant } = each;
    const pairs = pairsOf(conditions, { dataset, run: variant, against: BASELINE });
    if (pairs.length === 0) return [];
    const base = conditions.find((c) => c.dataset === dataset && c.variant === BASELINE);
    const printed = [each.published, base?.published ?? null];
    return [{
      dataset,
      variant,
      ...summaryOf(pairs.map((pair) => pair.delta), confidence),
      positive: pairs.filter((pair) => pair.delta > 0).length,
      negative: pairs.filter((pair) => pair.delta < 0).length,
      pairs,
      published: printed[0] == null || printed[1] == null ? null : printed[0] - printed[1],
    }];
  });
}

function averagesOf(
  conditions: readonly Condition[],
  published: Published,
): Results["averages"] {
  const variants = unique(conditions.map((each) => each.variant)).sort(compareVariants);
  const datasets = unique(conditions.map((each) => each.dataset)).filter((dataset) =>
    variants.every((variant) =>
      conditions.some((each) => each.dataset === dataset && each.variant === variant)
    )
  );
  const all = Object.keys(published.losses);
  const same = all.length > 0 && all.every((dataset) => datasets.includes(dataset));
  return {
    datasets,
    variants: datasets.length === 0 ? [] : variants.map((variant) => ({
      variant,
      mean: sum(
        datasets.map((dataset) =>
          conditions.find((each) => each.dataset === dataset && each.variant === variant)!.mean
        ),
      ) / datasets.length,
      published: same ? published.averages[variant] ?? null : null,
    })),
  };
}

function intensitiesOf(
  metrics: readonly (Place & { readonly value: Metrics })[],
): Results["intensities"] {
  return grouped(metrics).flatMap((group) => {
    const { dataset, variant, value } = group[0]!;
    return value.intensities.map(({ block, head, byPosition }, index) => ({
      dataset,
      variant,
      seeds: group.length,
      block,
      head,
      byPosition: byPosition.map((_, position) =>
        sum(group.map((each) => each.value.intensities[index]?.byPosition[position] ?? 0)) /
        group.length
      ),
    }));
  });
}

interface Evidence {
  readonly conditions: readonly Condition[];
  readonly corpora: ReadonlyMap<string, Corpus>;
  /** The data sets the paper's averages run over. */
  readonly all: readonly string[];
}

/** A comparison's differences by seed; runs on synthetic texts are no evidence. */
function lossDifferences(comparison: Comparison, evidence: Evidence): Differences {
  const { conditions, corpora, all } = evidence;
  const real = unique(conditions.map((each) => each.dataset))
    .filter((dataset) => corresponds(corpora.get(dataset)));
  const chosen = (comparison.dataset === AVERAGE ? real : [comparison.dataset])
    .filter((dataset) => real.includes(dataset))
    .map((dataset) => ({ dataset, pairs: pairsOf(conditions, { ...comparison, dataset }) }))
    .filter(({ pairs }) => pairs.length > 0);
  const [first] = chosen;
  if (first === undefined) return { values: [], on: "", asPaper: false };
  const values = first.pairs.flatMap(({ seed }) => {
    const own = chosen.map(({ pairs }) => pairs.find((pair) => pair.seed === seed)?.delta);
    return own.some((delta) => delta === undefined) ? [] : [sum(own as number[]) / own.length];
  });
  if (values.length === 0) return { values, on: "", asPaper: false };
  const part = comparison.dataset === AVERAGE && chosen.length < all.length
    ? [`${chosen.length} of ${all.length} texts`]
    : [];
  const sampled = chosen.some(({ dataset }) => corpora.get(dataset)?.source.kind === "sample");
  const small = conditions.some((each) =>
    chosen.some(({ dataset }) => dataset === each.dataset) && !each.fullSize &&
    [comparison.run, comparison.against].includes(each.variant)
  );
  const on = [
    ...part,
    sampled ? "a sample of the text" : "the full text",
    ...(small ? ["a smaller model or shorter training than the paper's"] : []),
  ];
  return { values, on: on.join(", "), asPaper: part.length === 0 && !sampled && !small };
}

/** Places that the grid spanned by the runs at hand lacks. */
function missingPlaces(places: readonly Place[]): Place[] {
  const variants = unique(places.map((each) => each.variant));
  return unique(places.map((each) => each.dataset)).flatMap((dataset) => {
    const own = places.filter((each) => each.dataset === dataset);
    return unique(own.map((each) => each.seed)).flatMap((seed) =>
      variants.filter((variant) =>
        !own.some((each) => each.variant === variant && each.seed === seed)
      ).map((variant) => ({ dataset, variant, seed }))
    );
  });
}

function unique<T>(values: readonly T[]): T[] {
  return [...new Set(values)];
}

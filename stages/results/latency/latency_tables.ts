/**
 * Latencies as tables.
 *
 * @module
 */
import {
  accuracyText,
  datasetTitle,
  kindLabel,
  runsAnchor,
  timedAnchor,
} from "../accuracy_table.ts";
import { counted, fixed, grouped, percent, points, pointsInterval } from "../format.ts";
import { encodingTitle, operatorTitle } from "../order.ts";
import type { PaperLatency, PaperTable } from "../paper/numbers.ts";
import type { Condition, Results } from "../results.ts";
import { traceLink } from "../sources.ts";
import { type Cell, type Data, type FileTable, rowsLink } from "../table.ts";
import type { Latencies, TimedCondition } from "./latencies.ts";

/** Milliseconds with the digits that timing can resolve: `892`, `12.4`, `1.37`. */
export function milliseconds(ms: number): string {
  return fixed(ms, ms >= 100 ? 0 : ms >= 10 ? 1 : 2);
}

/** `12.4 ± 0.3`, or `12.4 (1 seed)` where there is no spread. */
export function latencyText({ mean, sd }: Pick<TimedCondition, "mean" | "sd">): string {
  return sd === null ? `${milliseconds(mean)} (1 seed)` : `${milliseconds(mean)} ± ${fixed(sd, 2)}`;
}

/** `+2.1 [+1.0, +3.2]`, percent. */
export function changeOf(change: NonNullable<TimedCondition["change"]>): string {
  const interval = change.interval ? ` ${pointsInterval(change.interval, 1)}` : "";
  return points(change.mean, 1) + interval;
}

/**
 * Table 2's shape: accuracy and latency by operator, with what the paper says beside data that
 * corresponds.
 */
export function latencyTable(results: Results, latencies: Latencies): FileTable {
  const level = percent(results.confidence, 0);
  const encodings = new Set(latencies.conditions.map((each) => each.encoding));
  const isShown = ({ dataset }: TimedCondition) =>
    results.datasets.find((one) => one.dataset === dataset)?.corpus?.source.kind !== "synthetic";
  const anyShown = latencies.conditions.some((each) =>
    isShown(each) && paperOf(each, latencies) !== undefined
  );
  const rows: Cell[][] = [];
  const breaks: number[] = [];
  let last: TimedCondition | undefined;
  for (const each of latencies.conditions) {
    const { dataset, encoding, operator, change } = each;
    const begins = last?.dataset !== dataset || last.encoding !== encoding;
    if (begins && last !== undefined) breaks.push(rows.length - 1);
    last = each;
    const entry = results.datasets.find((one) => one.dataset === dataset);
    const accuracy = accuracyOf(results, each);
    const shown = isShown(each);
    const named = encodings.size > 1 ? `, ${encodingTitle(encoding)}` : "";
    const other = shown && paperOf(each, latencies) !== undefined && !each.fullSize &&
        !entry?.smaller
      ? ", another batch or size than the paper's"
      : "";
    rows.push([
      begins ? `${datasetTitle(entry, dataset)}${named}: ${kindLabel(entry)}${other}` : "",
      operatorTitle(operator),
      accuracy === undefined
        ? "–"
        : { text: accuracyText(accuracy), to: rowsLink(runsAnchor(accuracy)) },
      { text: latencyText(each), to: rowsLink(timedAnchor(each)) },
      fixed(each.msPerDocument, 3),
      change === null ? "–" : changeOf(change),
      ...(anyShown
        ? [
          shown ? paperAccuracy(each, latencies.accuracies) : "–",
          shown ? paperLatency(each, latencies) : "–",
        ]
        : []),
    ]);
  }
  const baseline = operatorTitle(results.baseline);
  return {
    id: "table2",
    caption: "Test accuracy and latency by fusion operator, measured on this machine",
    columns: [
      { title: "Dataset" },
      { title: "Operator" },
      { title: "Accuracy, %", align: "right" },
      { title: "ms a batch", align: "right" },
      { title: "ms a document", align: "right" },
      { title: `From ${baseline}, %`, align: "right" },
      ...(anyShown
        ? [{ title: "Paper: accuracy", align: "right" as const }, { title: "Paper: latency" }]
        : []),
    ],
    rows,
    breaks,
    data: latencyData(results, latencies),
    notes: [
      "A seed's latency is the median over rounds of a forward pass, fusion included; shown are " +
      `mean ± standard deviation over seeds. From ${baseline}: the mean difference and its ${level} ` +
      "% Student t interval over seeds; the models of a seed took turns, so that its difference is " +
      "the median of those within a round.",
      ...latencies.settings.map((each) =>
        `${titleOf(results, each.dataset)}: ${grouped(each.documents)} test documents of ${
          fixed(each.tokensPerDocument, 1)
        } tokens on average, in batches of ${each.batch}; ${
          counted(each.warmUp, "round")
        } to warm up, ${each.rounds} timed; backend ${latencies.backends.join(", ")}.`
      ),
      ...(anyShown
        ? [
          "The paper gives latency in words; milliseconds are read off its figure's bars, which " +
          "say neither what is counted nor on which machine.",
        ]
        : []),
    ],
  };
}

/** What the rounds of each model spread over. */
export function timingTable(results: Results, latencies: Latencies): FileTable {
  const anchors = new Map<number, string>();
  let count = 0;
  for (const each of latencies.conditions) {
    anchors.set(count, timedAnchor(each));
    count += each.runs.length;
  }
  return {
    id: "timings",
    caption: "Every model that was timed, milliseconds a batch",
    columns: [
      { title: "Dataset" },
      { title: "Encoding" },
      { title: "Operator" },
      ...["Seed", "Rounds", "Median", "Mean", "Std. dev.", "Least", "Most", "Tokens a document"]
        .map((title) => ({ title, align: "right" as const })),
    ],
    rows: latencies.conditions.flatMap((each) =>
      each.runs.map((run) => [
        titleOf(results, each.dataset),
        encodingTitle(each.encoding),
        operatorTitle(each.operator),
        String(run.seed),
        String(run.rounds),
        { text: fixed(run.median, 3), to: traceLink(run.sha256) },
        fixed(run.mean, 3),
        run.sd === null ? "–" : fixed(run.sd, 3),
        fixed(run.least, 3),
        fixed(run.most, 3),
        fixed(run.tokensPerDocument, 1),
      ])
    ),
    anchors,
    notes: ["Medians lead to the trace of the timing."],
    data: {
      columns: [
        ...["dataset", "encoding", "operator", "seed", "rounds"],
        ...["median_ms_per_batch", "mean_ms_per_batch", "sd_ms_per_batch"],
        ...["least_ms_per_batch", "most_ms_per_batch"],
        ...["median_ms_per_document", "tokens_per_document"],
      ],
      rows: latencies.conditions.flatMap(({ dataset, encoding, operator, runs }) =>
        runs.map((run) => [
          ...[dataset, encoding, operator, run.seed, run.rounds],
          ...[run.median, run.mean, run.sd, run.least, run.most],
          ...[run.msPerDocument, run.tokensPerDocument],
        ])
      ),
    },
  };
}

/** Conditions for programs: milliseconds and fractions, unrounded. */
function latencyData(results: Results, latencies: Latencies): Data {
  return {
    columns: [
      ...["dataset", "encoding", "operator", "seeds", "accuracy_mean"],
      ...["ms_per_batch", "ms_per_batch_sd", "ms_per_document"],
      ...["change", "change_low", "change_high", "full_size"],
    ],
    rows: latencies.conditions.map((each) => [
      ...[each.dataset, each.encoding, each.operator, each.n],
      accuracyOf(results, each)?.mean ?? null,
      ...[each.mean, each.sd, each.msPerDocument],
      ...[each.change?.mean ?? null, each.change?.interval?.[0] ?? null],
      ...[each.change?.interval?.[1] ?? null, String(each.fullSize)],
    ]),
  };
}

function accuracyOf(results: Results, each: TimedCondition): Condition | undefined {
  const { dataset, encoding, operator } = each;
  return results.conditions.find((cell) =>
    cell.dataset === dataset && cell.encoding === encoding && cell.operator === operator
  );
}

function titleOf(results: Results, dataset: string): string {
  return datasetTitle(results.datasets.find((each) => each.dataset === dataset), dataset);
}

function paperAccuracy(each: TimedCondition, accuracies: PaperTable): string {
  const cells = accuracies[each.dataset];
  const plain = each.encoding === "sinusoidal" ? cells?.[each.operator] : undefined;
  const cell = plain ?? cells?.[`${each.encoding}.${each.operator}`];
  return cell === undefined ? "–" : `about ${cell[0]}`;
}

function paperLatency(each: TimedCondition, latencies: Latencies): string {
  const found = paperOf(each, latencies)?.operators.find((one) => one.operator === each.operator);
  return found === undefined ? "–" : `${found.words}; ${found.milliseconds} ms`;
}

function paperOf(each: TimedCondition, latencies: Latencies): PaperLatency | undefined {
  return latencies.published.find((one) =>
    one.dataset === each.dataset && one.encoding === each.encoding
  );
}

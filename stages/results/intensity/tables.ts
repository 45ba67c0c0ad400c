/**
 * The language models' tables.
 *
 * @module
 */
import { datasetTitle, kindLabel } from "../accuracy_table.ts";
import { fixed, grouped } from "../format.ts";
import type { TraceLinks } from "../sources.ts";
import { type Cell, type FileTable, linked, rowsLink } from "../table.ts";
import type { Condition, Results, Speeds } from "./results.ts";
import { EVERY_RUN, pairsAnchor, runsAnchor, timedAnchor } from "./anchors.ts";
import { BASELINE, variantLabel, variantTitle } from "./variants.ts";

type Entry = Results["datasets"][number];

/** A text's title. */
export function titleOf(results: Results, dataset: string): string {
  return datasetTitle(entryOf(results, dataset), dataset);
}

/** A text's title and how it relates to the paper's. */
export function labelOf(results: Results, dataset: string): string {
  return `${titleOf(results, dataset)} · ${kindLabel(entryOf(results, dataset))}`;
}

function entryOf(results: Results, dataset: string) {
  const entry: Entry | undefined = results.datasets.find((each) => each.dataset === dataset);
  return entry && { ...entry, majorityShare: null };
}

/** How a text relates to the paper's, for programs. */
export function kindOf(results: Results, dataset: string): string {
  return entryOf(results, dataset)?.corpus?.source.kind ?? "undescribed";
}

/** A signed number, `−0.0015` or `+31.0`. */
export function signed(value: number, digits: number): string {
  const text = fixed(value, digits);
  return text.startsWith("\u2212") || /^[0.]+$/.test(text) ? text : `+${text}`;
}

/** Best validation loss by text and variant, ours above the paper's. */
export function lossTable(results: Results): FileTable {
  const rows: Cell[][] = [];
  const breaks: number[] = [];
  for (const { dataset } of results.datasets) {
    const cells = results.conditions.filter((each) => each.dataset === dataset);
    if (cells.length === 0) continue;
    const find = (variant: string) => cells.find((each) => each.variant === variant);
    const seeds = [...new Set(cells.map((each) => each.n))].sort((a, b) => a - b);
    const n = seeds.length === 1 ? `n = ${seeds[0]}` : `n = ${seeds[0]}–${seeds.at(-1)}`;
    const entry = entryOf(results, dataset);
    rows.push([
      titleOf(results, dataset),
      `This run: ${kindLabel(entry)}, ${sizeText(cells)}${n}`,
      ...results.variants.map((variant) => {
        const cell = find(variant);
        return linked(lossText(cell), cell && rowsLink(runsAnchor(cell)));
      }),
    ]);
    if (cells.some((each) => each.published !== null)) {
      rows.push([
        "",
        "Paper, as printed",
        ...results.variants.map((variant) => find(variant)?.published?.toFixed(4) ?? "–"),
      ]);
    }
    breaks.push(rows.length - 1);
  }
  return {
    id: "losses",
    caption: "Best validation loss in nats per character, mean ± standard deviation over seeds",
    columns: [
      { title: "Text" },
      { title: "Source" },
      ...results.variants.map((variant) => ({
        title: variantLabel(variant),
        align: "right" as const,
      })),
    ],
    rows,
    breaks,
    data: {
      columns: [
        ...["dataset", "data_kind", "run", "seeds", "loss_mean", "loss_sd"],
        ...["interval_low", "interval_high", "published_loss", "full_size"],
      ],
      rows: results.conditions.map((cell) => [
        ...[cell.dataset, kindOf(results, cell.dataset), cell.variant, cell.n, cell.mean, cell.sd],
        ...[cell.interval?.[0] ?? null, cell.interval?.[1] ?? null],
        ...[cell.published, String(cell.fullSize)],
      ]),
    },
  };
}

/** Says where model or training are not the paper's size. */
function sizeText(cells: readonly Condition[]): string {
  if (cells.every((each) => each.published === null)) return "";
  return cells.every((each) => each.fullSize) ? "" : "smaller model or shorter training, ";
}

function lossText(cell: Condition | undefined): string {
  if (cell === undefined) return "not run";
  return cell.sd === null
    ? `${fixed(cell.mean, 4)} (1 seed)`
    : `${fixed(cell.mean, 4)} ± ${fixed(cell.sd, 4)}`;
}

/** Paired differences from the model without intensity. */
export function differenceTable(results: Results): FileTable {
  const level = Math.round(results.confidence * 100);
  return {
    id: "differences",
    caption: "Best validation loss minus the baseline's, nats per character, seed by seed",
    columns: [
      { title: "Text" },
      { title: "Run" },
      ...["Seeds", "Mean", `${level} % interval`, "Better / worse", "Paper"].map((title) => ({
        title,
        align: "right" as const,
      })),
    ],
    rows: results.deltas.map((delta) => [
      titleOf(results, delta.dataset),
      variantTitle(delta.variant),
      String(delta.n),
      { text: signed(delta.mean, 4), to: rowsLink(pairsAnchor({ ...delta, against: BASELINE })) },
      delta.interval === null
        ? "needs 2 seeds"
        : `[${signed(delta.interval[0], 4)}, ${signed(delta.interval[1], 4)}]`,
      `${delta.negative} / ${delta.positive}`,
      delta.published === null ? "–" : signed(delta.published, 4),
    ]),
    breaks: results.deltas.flatMap((delta, index) =>
      results.deltas[index + 1]?.dataset === delta.dataset ? [] : [index]
    ),
    notes: [
      "Less is better. A bypassed run computes what the baseline computes, bit for bit: a " +
      "difference of zero there is no chance.",
    ],
    data: {
      columns: [
        ...["dataset", "data_kind", "run", "seeds", "delta_mean", "delta_sd"],
        ...["interval_low", "interval_high", "positive", "negative", "published_delta"],
      ],
      rows: results.deltas.map((each) => [
        ...[each.dataset, kindOf(results, each.dataset), each.variant, each.n, each.mean, each.sd],
        ...[each.interval?.[0] ?? null, each.interval?.[1] ?? null],
        ...[each.positive, each.negative, each.published],
      ]),
    },
  };
}

/** Table 1 of the paper: speed and average loss by variant, ours beside the printed. */
export function speedTable(results: Results, speeds: Speeds): FileTable {
  const number = (value: number | null | undefined, digits: number) =>
    value === null || value === undefined ? "–" : fixed(value, digits);
  const change = (value: number | null, digits: number) =>
    value === null ? "–" : `${signed(value, digits)} %`;
  const printed = speeds.variants.find((each) => each.variant === BASELINE)?.published ?? null;
  const { datasets } = results.averages;
  return {
    id: "table1",
    caption: "Speed of generation and average best validation loss",
    columns: [
      { title: "Method" },
      ...[
        "Tokens/s",
        "Change",
        "Tokens/s, cache",
        "Loss",
        "Paper: tokens/s",
        "Paper: change",
        "Paper: loss",
      ].map((title) => ({ title, align: "right" as const })),
    ],
    rows: speeds.variants.map((each) => {
      const average = results.averages.variants.find((own) => own.variant === each.variant);
      return [
        variantTitle(each.variant),
        linked(number(each.plain, 1), rowsLink(timedAnchor(each.variant))),
        change(each.change, 1),
        number(each.cached, 1),
        linked(number(average?.mean, 4), average && rowsLink(EVERY_RUN)),
        number(each.published, 1),
        each.published === null || printed === null || each.variant === BASELINE
          ? "–"
          : change(100 * (each.published / printed - 1), 1),
        number(average?.published, 3),
      ];
    }),
    notes: [
      "Speeds are of this machine and differ each time; without a cache each token is computed " +
      "from the whole context. No other work of the run went on meanwhile. The paper's are of GPUs " +
      "that it does not name, and are shown beside models of its size only.",
      "A change is the mean, over texts and seeds, of the changes of single models from the " +
      "baseline's of the same text and seed: not that of the mean speeds beside it.",
      ...(datasets.length === 0 ? [] : [
        `Losses are means over ${
          datasets.map((dataset) => titleOf(results, dataset)).join("; ")
        }; the paper's over its four texts, shown where those were run.`,
      ]),
    ],
    data: {
      columns: [
        ...["run", "tokens_per_second", "change_percent", "tokens_per_second_cached", "loss_mean"],
        ...["published_tokens_per_second", "published_loss"],
      ],
      rows: speeds.variants.map((each) => {
        const average = results.averages.variants.find((own) => own.variant === each.variant);
        return [
          ...[each.variant, each.plain, each.change, each.cached, average?.mean ?? null],
          ...[each.published, average?.published ?? null],
        ];
      }),
    },
  };
}

/** The texts. */
export function textTable(results: Results, trace: TraceLinks = () => undefined): FileTable {
  return {
    id: "texts",
    caption: "Texts the models were trained on, in characters",
    columns: [
      { title: "Text" },
      { title: "Data" },
      ...["Train", "Validation", "Test", "Symbols"].map((title) => ({
        title,
        align: "right" as const,
      })),
    ],
    rows: results.datasets.map(({ dataset, corpus }) => [
      titleOf(results, dataset),
      kindLabel(entryOf(results, dataset)),
      ...["train", "validation", "test"].map((split) => {
        const tokens = corpus?.splits[split]?.tokens;
        if (tokens === undefined) return "–";
        const to = split === "train" ? trace("statistics", [dataset]) : undefined;
        return linked(grouped(tokens), to);
      }),
      corpus === null ? "–" : grouped(corpus.vocabularySize),
    ]),
    data: {
      columns: ["dataset", "data_kind", "train", "validation", "test", "symbols"],
      rows: results.datasets.map(({ dataset, corpus }) => [
        ...[dataset, kindOf(results, dataset)],
        ...["train", "validation", "test"].map((split) => corpus?.splits[split]?.tokens ?? null),
        corpus?.vocabularySize ?? null,
      ]),
    },
  };
}

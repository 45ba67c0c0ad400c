/**
 * What the language models' means rest on: every run, every pair of runs under one seed, every timed
 * run, each with the way to its trace.
 *
 * @module
 */
import { fixed, grouped } from "../format.ts";
import { traceLink, type TraceLinks } from "../sources.ts";
import { type Cell, type Data, type FileTable, linked } from "../table.ts";
import {
  type Contrast,
  EVERY_PAIR,
  EVERY_RUN,
  EVERY_SPEED,
  pairsAnchor,
  runsAnchor,
  timedAnchor,
} from "./anchors.ts";
import { AVERAGE } from "./claim.ts";
import type { Results, Speeds } from "./results.ts";
import { kindOf, signed, titleOf } from "./tables.ts";
import { BASELINE, variantLabel, variantTitle } from "./variants.ts";

/** Every run, for people. */
export function runTable(results: Results, trace: TraceLinks = () => undefined): FileTable {
  const anchors = new Map<number, string>();
  let count = 0;
  for (const cell of results.conditions) {
    anchors.set(count, runsAnchor(cell));
    count += cell.runs.length;
  }
  return {
    id: EVERY_RUN,
    caption: "Every run",
    columns: [
      { title: "Text" },
      { title: "Run" },
      ...[
        "Seed",
        "Parameters",
        "Steps",
        "Best step",
        "Best loss",
        "Validation loss",
        "Test loss",
        "Test bits",
      ].map((title) => ({ title, align: "right" as const })),
    ],
    rows: results.conditions.flatMap((cell) =>
      cell.runs.map((run) => {
        const split = (name: string) => run.splits.find((each) => each.split === name);
        const number = (value: number | undefined) => value === undefined ? "–" : fixed(value, 4);
        return [
          titleOf(results, cell.dataset),
          variantLabel(cell.variant),
          String(run.seed),
          grouped(run.parameters),
          grouped(run.steps),
          grouped(run.bestIteration),
          linked(fixed(run.best, 4), trace("history", [cell.dataset, cell.variant, run.seed])),
          linked(
            number(split("validation")?.lossNats),
            trace("metrics", [cell.dataset, cell.variant, run.seed]),
          ),
          number(split("test")?.lossNats),
          number(split("test")?.bits),
        ];
      })
    ),
    anchors,
    notes: [
      "Best losses lead to the trace of the training, validation losses to that of the evaluation. " +
      "Best loss: the lowest of all evaluations on random excerpts, the paper's headline. " +
      "Validation and test loss: of the weights kept then, on excerpts that do not overlap. " +
      "Losses are nats per character; bits are per character.",
    ],
    data: runData(results),
  };
}

/** Every run, for programs. */
function runData(results: Results): Data {
  return {
    columns: [
      "dataset",
      "data_kind",
      "run",
      "seed",
      "parameters",
      "steps",
      "best_iteration",
      "best_validation_loss_nats",
      "validation_loss_nats",
      "test_loss_nats",
      "test_bits",
      "published_loss_nats",
      "full_size",
    ],
    rows: results.conditions.flatMap((cell) =>
      cell.runs.map((run) => {
        const split = (name: string) => run.splits.find((each) => each.split === name);
        return [
          cell.dataset,
          kindOf(results, cell.dataset),
          cell.variant,
          run.seed,
          run.parameters,
          run.steps,
          run.bestIteration,
          run.best,
          split("validation")?.lossNats ?? null,
          split("test")?.lossNats ?? null,
          split("test")?.bits ?? null,
          cell.published,
          String(cell.fullSize),
        ];
      })
    ),
  };
}

/** Every pair of runs that a difference or a claim rests on. */
export function pairTable(results: Results, trace: TraceLinks = () => undefined): FileTable {
  const anchors = new Map<number, string>();
  const rows: Cell[][] = [];
  const data: (string | number)[][] = [];
  for (const [anchor, { dataset, variant, against }] of contrasts(results)) {
    const find = (name: string) =>
      results.conditions.find((each) => each.dataset === dataset && each.variant === name);
    const [own, other] = [find(variant)?.runs ?? [], find(against)?.runs ?? []];
    const first = rows.length;
    for (const { seed, best } of own) {
      const partner = other.find((run) => run.seed === seed);
      if (partner === undefined) continue;
      rows.push([
        titleOf(results, dataset),
        `${variantLabel(variant)} − ${variantLabel(against).toLowerCase()}`,
        String(seed),
        linked(fixed(best, 4), trace("history", [dataset, variant, seed])),
        linked(fixed(partner.best, 4), trace("history", [dataset, against, seed])),
        signed(best - partner.best, 4),
      ]);
      data.push([dataset, variant, against, seed, best, partner.best, best - partner.best]);
    }
    if (rows.length > first) anchors.set(first, anchor);
  }
  return {
    id: EVERY_PAIR,
    caption:
      "Every pair of runs under one seed: best losses and their difference, nats per character",
    columns: [
      { title: "Text" },
      { title: "Difference" },
      ...["Seed", "First", "Second", "Difference"].map((title) => ({
        title,
        align: "right" as const,
      })),
    ],
    rows,
    anchors,
    data: {
      columns: ["dataset", "run", "against", "seed", "loss_first", "loss_second", "delta"],
      rows: data,
    },
  };
}

/** The contrasts of differences and claims, each once, by anchor; an average is of all texts. */
function contrasts(results: Results): Map<string, Contrast> {
  const texts = results.datasets.map(({ dataset }) => dataset);
  const all: Contrast[] = [
    ...results.deltas.map((delta) => ({ ...delta, against: BASELINE })),
    ...results.claims.flatMap((claim) => claim.comparisons).filter((each) => each.n > 0)
      .flatMap(({ dataset, run, against }) =>
        (dataset === AVERAGE ? texts : [dataset]).map((text) => ({
          dataset: text,
          variant: run,
          against,
        }))
      ),
  ];
  return new Map(all.map((each) => [pairsAnchor(each), each]));
}

/** Every timed run. */
export function timedTable(results: Results, speeds: Speeds): FileTable {
  const anchors = new Map<number, string>();
  const runs = speeds.variants.flatMap(({ variant }) =>
    speeds.runs.filter((run) => run.variant === variant)
  );
  runs.forEach(({ variant }, index) => {
    if (runs[index - 1]?.variant !== variant) anchors.set(index, timedAnchor(variant));
  });
  const number = (value: number | null) => value === null ? "–" : fixed(value, 1);
  return {
    id: EVERY_SPEED,
    caption: "Every timed run, tokens per second",
    columns: [
      { title: "Method" },
      { title: "Text" },
      ...["Seed", "Tokens/s", "Tokens/s, cache"].map((title) => ({
        title,
        align: "right" as const,
      })),
    ],
    rows: runs.map((run) => [
      variantTitle(run.variant),
      titleOf(results, run.dataset),
      String(run.seed),
      linked(number(run.plain), traceLink(run.sha256)),
      number(run.cached),
    ]),
    anchors,
    data: {
      columns: ["run", "dataset", "seed", "tokens_per_second", "tokens_per_second_cached"],
      rows: runs.map((run) => [run.variant, run.dataset, run.seed, run.plain, run.cached]),
    },
  };
}

/**
 * How data and models relate to those of the paper.
 *
 * @module
 */
import type { Where } from "./spec/axes.ts";
import { type Corpus, fits, rowsAt, type Study } from "./study.ts";
import type { At } from "./tidy/table.ts";

/** How a condition's data and models relate to the paper's. */
export interface Provenance {
  readonly kind: Corpus["kind"] | "undescribed";
  /** What falls short of the paper: `smaller model`. */
  readonly short: readonly string[];
  /** Whether it is all as in the paper. */
  readonly asPaper: boolean;
  /** `sample of the data, smaller model`. */
  readonly text: string;
}

const KINDS = {
  official: "full data",
  sample: "sample of the data",
  synthetic: "synthetic data",
  undescribed: "data not described",
} as const;

/** The provenance of what ran at some coordinates; of several data sets, the least of theirs. */
export function provenanceOf(study: Study, where: Where | At): Provenance {
  const own = study.corpora.filter(({ at }) => fits(at, where));
  const kinds = ["synthetic", "sample", "official"] as const;
  const kind = kinds.find((each) => own.some((corpus) => corpus.kind === each)) ?? "undescribed";
  const short = kind === "synthetic" ? [] : study.paper.size.filter((size) => {
    const table = study.tidy[size.table];
    if (table === undefined || !fits(size.at, where)) return false;
    const of = (name: string, row: number) => Number(table.columns[name]?.[row] ?? NaN);
    return rowsAt(table, { ...where, ...size.at }).some((row) =>
      Object.entries(size.equals).some(([name, value]) => of(name, row) !== value) ||
      Object.entries(size.at_least).some(([name, value]) => !(of(name, row) >= value))
    );
  }).map(({ says }) => says);
  const labels = [...new Set(short)];
  return {
    kind,
    short: labels,
    asPaper: kind === "official" && labels.length === 0,
    text: [KINDS[kind], ...labels].join(", "),
  };
}

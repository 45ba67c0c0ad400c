/**
 * From measurement files and what an experiment says of them to a study.
 *
 * @module
 */
import { StageError } from "../../pipeline/errors.ts";
import { cellsOf, type Grid } from "../grid.ts";
import type { Metrics } from "../spec/axes.ts";
import { publishedValues } from "../printed.ts";
import type { Paper, Published } from "../spec/published.ts";
import { type Absent, type Sources } from "../results.ts";
import { sum } from "../statistics/sample.ts";
import { atOf, type Axis, byAxes, type Corpus, isAt, keyOf, rowsAt, type Study } from "../study.ts";
import { gather, type Measured } from "./gather.ts";
import { axesInOrder, compareValues, describedValues, type Order } from "./order.ts";
import type { At, TidyTable } from "./table.ts";

/** What an experiment says of its analysis, as far as a study knows it. */
export interface StudyParams extends Order {
  readonly title: string;
  readonly confidence: number;
  readonly metrics: Metrics;
  readonly published: Published;
  readonly paper: Paper;
}

/**
 * Gathers measurement files into a study; says which artifact each row was read from.
 *
 * @throws {StageError} If the files do not fit together, see {@linkcode gather}, or a corpus's kind is
 *   none.
 */
export function studyOf(
  params: StudyParams,
  artifacts: readonly Measured[],
): { study: Study; sources: Sources } {
  const { title, confidence, seeds, metrics, paper } = params;
  const { tidy, sources } = gather(artifacts, params);
  const study: Study = {
    title,
    confidence,
    seeds,
    axes: axesOf(params, tidy),
    metrics,
    tidy,
    corpora: corporaOf(tidy, paper),
    published: publishedValues(params),
    paper,
  };
  return { study, sources: { tables: sources } };
}

/** The axes that occur, with their values' titles: those described, else a corpus's own, else as is. */
function axesOf(order: Order, tidy: Study["tidy"]): Axis[] {
  const tables = Object.values(tidy);
  const named = new Map(order.axes);
  return axesInOrder(tables.flatMap(({ axes }) => axes), order).map((name): Axis => {
    const described = new Map(named.get(name)?.values ?? []);
    const found = new Set(
      tables.flatMap((table) => table.axes.includes(name) ? table.columns[name]!.map(String) : []),
    );
    const label = (value: string) => {
      const own = described.get(value) ?? corpusTitle(tidy["corpora"], name, value) ?? value;
      const { title, short, note } = typeof own === "string"
        ? { title: own, short: undefined, note: undefined }
        : own;
      return { value, title, short: short ?? title, note: note ?? null };
    };
    return {
      name,
      title: named.get(name)?.title ?? name,
      baseline: named.get(name)?.baseline ?? null,
      values: [...found].sort(compareValues(describedValues(order, name)))
        .map(label),
      others: [...described.keys()].filter((value) => !found.has(value)).map(label),
    };
  });
}

/** The title of the corpus that an axis alone locates. */
function corpusTitle(
  corpora: TidyTable | undefined,
  axis: string,
  value: string,
): string | undefined {
  if (corpora?.axes.length !== 1) return undefined;
  const [row] = corpora.axes[0] === axis ? rowsAt(corpora, { [axis]: value }) : [];
  const title = row === undefined ? null : corpora.columns["title"]?.[row] ?? null;
  return title === null ? undefined : String(title);
}

/** Share of a data set that counts as all: some rows have no word and are dropped. */
const WHOLE = 0.99;

function corporaOf(tidy: Study["tidy"], paper: Paper): Corpus[] {
  const table = tidy["corpora"];
  if (table === undefined) return [];
  return Array.from({ length: table.length }, (_, row): Corpus => {
    const at = atOf(table, row);
    const of = (name: string) => table.columns[name]?.[row] ?? null;
    const kind = ["official", "sample", "synthetic"].find((each) => each === of("kind"));
    if (kind === undefined) {
      throw new StageError(
        'Cannot gather table "corpora": kind must be official, sample or synthetic, found ' +
          JSON.stringify(of("kind")),
      );
    }
    const note = String(of("note") ?? "");
    const part = kind === "synthetic" ? undefined : partOf({ at, of }, { tidy, paper });
    const isWhole = kind === "official" ||
      paper.whole.some(({ at: place, column, value }) =>
        isAt(at, place) && Number(of(column)) >= value
      );
    return {
      at,
      // What holds every document of the paper's data set is whole, however it was packed.
      kind: kind === "synthetic" ? kind : part === undefined && isWhole ? "official" : "sample",
      title: String(of("title") ?? ""),
      note: part === undefined ? note : `${note} ${part}`.trim(),
    };
  });
}

/** How much of its data set a corpus holds, in a sentence; `undefined` for all of it. */
function partOf(
  { at, of }: { at: At; of: (name: string) => string | number | null },
  { tidy, paper }: { tidy: Study["tidy"]; paper: Paper },
): string | undefined {
  const says = (used: number, whole: number, what: string) =>
    used < whole ? `Only ${used} of the ${whole} ${what} were used.` : undefined;
  for (const { at: place, column, value } of paper.whole) {
    if (!isAt(at, place)) continue;
    const used = Number(of(column) ?? NaN);
    if (used < WHOLE * value) return says(used, value, column);
  }
  const splits = tidy["splits"];
  const rows = rowsAt(splits, at);
  const total = (name: string) => sum(rows.map((row) => Number(splits!.columns[name]?.[row] ?? 0)));
  return says(total("documents"), total("available"), "documents");
}

/**
 * Cells that were asked for and of which a file is not there, in display order. Not those of a value that
 * is absent altogether.
 */
export function missingRuns(
  study: Study,
  { artifacts, grid, absent }: {
    readonly artifacts: readonly Pick<Measured, "at">[];
    readonly grid: Grid;
    readonly absent: readonly Absent[];
  },
): At[] {
  const there = new Map<string, number>();
  for (const { at } of artifacts) there.set(keyOf(at), (there.get(keyOf(at)) ?? 0) + 1);
  const missing = new Map<string, At>();
  for (const at of cellsOf(grid)) {
    const left = there.get(keyOf(at)) ?? 0;
    there.set(keyOf(at), left - 1);
    const isAbsent = absent.some(({ axis, values }) => values.includes(at[axis] ?? ""));
    if (left < 1 && !isAbsent) missing.set(keyOf(at), at);
  }
  return [...missing.values()].sort(byAxes(study, study.axes.map(({ name }) => name)));
}

/** Values of axes that were asked for and of which no metric was measured. */
export function absentValues(
  study: Study,
  order: Order & { readonly grid: Pick<Grid, "values"> },
): Absent[] {
  const tables = [...new Set(Object.values(study.metrics).map(({ table }) => table))]
    .flatMap((name) => study.tidy[name] ?? []);
  return study.axes.flatMap(({ name: axis }) => {
    const found = tables.flatMap((table) =>
      table.axes.includes(axis) ? table.columns[axis]!.map(String) : []
    );
    const asked = found.length === 0 ? [] : order.grid.values[axis] ?? [];
    const there = new Set(found);
    const values = asked.filter((value) => !there.has(value))
      .sort(compareValues(describedValues(order, axis)));
    return values.length === 0 ? [] : [{ axis, values, of: asked.length }];
  });
}

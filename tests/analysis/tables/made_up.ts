/**
 * A made-up study of axes that no code knows, and printed values from CSV.
 *
 * @module
 */
import { parse } from "@std/csv";
import type { Sensitivity } from "../../../analysis/claims/sensitivity.ts";
import type { JudgedClaim } from "../../../analysis/claims/judged.ts";
import { type Metrics, metricsSchema } from "../../../analysis/spec/axes.ts";
import { publishedValues } from "../../../analysis/printed.ts";
import { paperSchema, publishedSchema } from "../../../analysis/spec/published.ts";
import { tablesSchema } from "../../../analysis/spec/tables.ts";
import type { Corpus, PublishedValue, Study } from "../../../analysis/study.ts";
import { tablesOf } from "../../../analysis/tables/tables.ts";
import { cellText, type Table } from "../../../analysis/tables/table.ts";
import type { TidyTable, Value } from "../../../analysis/tidy/table.ts";

/** A tidy table from rows; those of its columns that are axes are named. */
export function tidy(
  name: string,
  axes: readonly string[],
  rows: readonly Readonly<Record<string, Value>>[],
): TidyTable {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = Object.fromEntries(
    names.map((column) => [column, rows.map((row) => row[column] ?? null)]),
  );
  return { name, axes, columns, length: rows.length };
}

/** Printed values of a paper's CSV, as a study has them. */
export function printedValues(csv: string): PublishedValue[] {
  const published = publishedSchema.parse(parse(csv, { skipFirstRow: true }));
  const all = metrics(
    Object.fromEntries(published.map(({ metric }) => [metric, { title: metric }])),
  );
  return publishedValues({ published, paper: paperSchema.parse({}), metrics: all });
}

/** Metrics with the schema's defaults. */
export function metrics(given: Readonly<Record<string, object>>): Metrics {
  return metricsSchema.parse(given);
}

/** An axis of values titled as they are, or as given. */
export function axis(name: string, values: Readonly<Record<string, string | object>>, more = {}) {
  return {
    ...{ name, title: name[0]!.toUpperCase() + name.slice(1), baseline: null },
    ...more,
    values: Object.entries(values).map(([value, given]) => {
      const own = typeof given === "string" ? { title: given } : given as { title: string };
      return { value, short: own.title, note: null, ...own };
    }),
  };
}

/** Cakes: how far they rise, by flavour and oven, three of each. */
export const RISE: Readonly<Record<string, readonly number[]>> = {
  "gas plain": [0.5, 0.6, 0.7],
  "gas vanilla": [0.55, 0.7, 0.7],
  "electric plain": [0.9, 0.92, 0.94],
  "electric vanilla": [0.98, 0.99, 1],
};

/** The made-up study, with changes. */
export function bakery(changes: Partial<Study> & { seeds?: never } = {}): Study {
  const runs = Object.entries(RISE).flatMap(([place, values]) => {
    const [oven, flavour] = place.split(" ") as [string, string];
    return values.map((rise, seed) => ({
      ...{ oven, flavour, batch: String(seed) },
      ...{ rise, eggs: 2 + seed, recipe: oven === "gas" ? "old" : "new" },
    }));
  });
  const rounds = ["plain", "vanilla"].flatMap((flavour, index) =>
    [0, 1].flatMap((batch) =>
      [0, 1, 2].map((round) => ({
        ...{ oven: "gas", flavour, batch: String(batch), round },
        seconds: 10 * (1 + round) * (1 + 0.1 * index) * (1 + batch),
      }))
    )
  );
  return {
    title: "Cakes",
    confidence: 0.95,
    seeds: "batch",
    axes: [
      axis("oven", { gas: "Gas", electric: { title: "Electric", note: "Electric is new." } }),
      axis("flavour", { plain: "Plain", vanilla: "Vanilla" }, { baseline: "plain" }),
      axis("batch", { "0": "0", "1": "1", "2": "2" }),
    ],
    metrics: metrics({
      rise: { title: "Rise", unit: "percent", scale: 100, better: "greater", max: 100 },
      seconds: {
        ...{ title: "Time", table: "rounds", unit: "s", digits: 1, better: "less" },
        ...{ change: "ratio", within: "round", timed: true },
      },
    }),
    tidy: {
      runs: tidy("runs", ["oven", "flavour", "batch"], runs),
      rounds: tidy("rounds", ["oven", "flavour", "batch"], rounds),
    },
    corpora: [corpus("gas", "official"), corpus("electric", "official")],
    published: printedValues(
      "source,page,metric,oven,flavour,against.flavour,value,spread,n,words\n" +
        "Table 1,3,rise,gas,plain,,61.2,2.5,3,\n" +
        "Table 1,3,rise,gas,vanilla,,64.0,1.5,3,\n" +
        "Table 1,3,rise,electric,plain,,92,,,about\n",
    ),
    paper: { reading_error: 0, whole: [], size: [], seeds: 3 },
    ...changes,
  };
}

/** What an oven's flour is. */
export function corpus(oven: string, kind: Corpus["kind"]): Corpus {
  return { at: { oven }, kind, title: oven, note: "" };
}

/** The tables of a study, by id. */
export function tables(
  study: Study,
  declared: Readonly<Record<string, object>>,
  claims: readonly JudgedClaim[] = [],
  sensitivity?: Sensitivity,
): Map<string, Table> {
  const all = tablesOf(study, {
    tables: tablesSchema.parse(declared),
    ...{ claims, sensitivity, findings: [] },
  });
  return new Map(all.map((table) => [table.id, table]));
}

/** A table's head and rows as texts. */
export function texts(table: Table | undefined): string[][] {
  if (table === undefined) return [];
  return [
    table.columns.map(({ title }) => title),
    ...table.rows.map(({ cells }) => cells.map(cellText)),
  ];
}

/**
 * Table cells of a paper, looked up by condition.
 *
 * @module
 */
import { compareEncodings, compareOperators, comparePaperDatasets } from "../order.ts";
import type { Tables } from "./numbers.ts";

/** One printed cell, percent. */
export interface Cell {
  readonly table: string;
  readonly dataset: string;
  readonly encoding: string;
  readonly operator: string;
  readonly mean: number;
  /** Null where no spread is printed; the mean is then rounded to a whole point. */
  readonly spread: number | null;
  /** Greatest error of the mean from its rounding. */
  readonly rounding: number;
}

/** All cells, by table name, then by data set, encoding and operator in the paper's order. */
export function cellsOf(tables: Tables): Cell[] {
  return Object.keys(tables).sort().flatMap((table) =>
    Object.keys(tables[table]!).sort(comparePaperDatasets).flatMap((dataset) =>
      Object.entries(tables[table]![dataset]!).map(([key, [mean, spread]]) => {
        const dot = key.indexOf(".");
        return {
          table,
          dataset,
          // A table without an encoding in its keys is of the sinusoidal one.
          encoding: dot < 0 ? "sinusoidal" : key.slice(0, dot),
          operator: key.slice(dot + 1),
          mean,
          spread: spread ?? null,
          rounding: spread === undefined ? 0.5 : 0.005,
        };
      }).sort((a, b) =>
        compareEncodings(a.encoding, b.encoding) || compareOperators(a.operator, b.operator)
      )
    )
  );
}

/** `table1` as people read it: `Table 1`. */
export function tableTitle(table: string): string {
  return table.replace(/^table(\d+)$/, "Table $1");
}

/**
 * What stages that measure write: scalars and series by name, as small tables without coordinates.
 * The coordinates are those of the instance that made the file.
 *
 * @module
 */
import { StageError } from "../../pipeline/errors.ts";
import type { Columns } from "./table.ts";

/**
 * Tables by name. One row holds scalars, `runs: { accuracy: [0.91], seed_words: [3] }`; more rows are
 * a series, `curve: { epoch: [1, 2], train_loss: [1.2, 0.9] }`.
 */
export type Measurements = Readonly<Record<string, Columns>>;

const FORMAT = "lockstep-measurements/1";

/** The text of a measurements file. */
export function measurementsText(tables: Measurements): string {
  return JSON.stringify({ format: FORMAT, tables }, null, 1) + "\n";
}

/** One row of scalars as columns. */
export function scalars(row: Readonly<Record<string, string | number | null>>): Columns {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, [value]]));
}

/** Rows as columns; each row has the same names. */
export function series(rows: readonly Readonly<Record<string, string | number | null>>[]): Columns {
  const names = Object.keys(rows[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, rows.map((row) => row[name] ?? null)]));
}

/**
 * Reads a measurements file.
 *
 * @param what What it should be, for the error: `evaluate.metrics of reviews/0`.
 * @throws {StageError} If it is none, or its columns differ in length.
 */
export function readMeasurements(path: string, what: string): Measurements {
  const fail = (found: string): never => {
    throw new StageError(
      `Cannot read ${what}: it must be a measurements file, ${found}; run the stage that wrote it ` +
        "again, or wire an output that holds measurements",
    );
  };
  let file: { format?: unknown; tables?: Measurements };
  try {
    file = JSON.parse(Deno.readTextFileSync(path));
  } catch (error) {
    if (error instanceof SyntaxError) return fail(`found ${error.message}`);
    throw error;
  }
  if (file?.format !== FORMAT || typeof file.tables !== "object") {
    return fail(`found format ${JSON.stringify(file?.format ?? null)}`);
  }
  for (const [table, columns] of Object.entries(file.tables)) {
    const lengths = new Set(Object.values(columns).map((column) => column.length));
    if (lengths.size > 1) return fail(`found columns of different lengths in table "${table}"`);
  }
  return file.tables;
}

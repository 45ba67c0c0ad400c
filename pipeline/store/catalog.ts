/**
 * A catalogue of the store, so that a run with nothing to do reads one database instead of every
 * trace. It holds no truth of its own: a row is used only while the file it describes is as it was
 * when it was read, and only to decide that there is nothing to do. It can be deleted at any time, and
 * whatever is wrong with it, it is dropped and filled from the traces again.
 *
 * @module
 */
import type { SQLInputValue } from "node:sqlite";
import { crc32 } from "node:zlib";
import { CatalogDatabase } from "./catalog_database.ts";
import type { Stat } from "../files.ts";
import { isCount, isDigest, isText } from "./shape.ts";
import type { Trace } from "./trace.ts";

/** What the catalogue knows of one trace. */
export interface TraceRow extends Stat {
  readonly key: string;
  readonly instance: string;
  readonly stage: string;
  readonly run: string;
  readonly started: string;
  readonly seconds: number;
  /** The trace's outputs, as JSON. */
  readonly outputs: string;
}

/** The row of a trace in a file with that stat. */
export function toRow(trace: Trace, stat: Stat): TraceRow {
  const { key, instance, stage, run, started, seconds } = trace;
  return {
    ...{ key, instance, stage, run, started, seconds },
    ...{ outputs: JSON.stringify(trace.outputs), ...stat },
  };
}

/** The fields in which a row differs from what it should be. */
export function wrongFields(row: TraceRow, wanted: TraceRow): (keyof TraceRow)[] {
  return (Object.keys(wanted) as (keyof TraceRow)[]).filter((field) =>
    row[field] !== wanted[field]
  );
}

/** The columns of a row, of which the last is their sum: it shows a garbled row, not a forged one. */
type Columns = readonly SQLInputValue[];

function withSum(columns: Columns): Columns {
  return [...columns, crc32(columns.join("\n"))];
}

function isIntact(columns: Columns): boolean {
  return crc32(columns.slice(0, -1).join("\n")) === columns.at(-1);
}

/** Whether a row is as it was written and such as a trace gives: a forged key might lead anywhere. */
function isTraceRow(columns: Columns): boolean {
  const [key, instance, stage, run, started, seconds, outputs, ...rest] = columns;
  return isIntact(columns) && isDigest(key) &&
    [instance, stage, run, started, outputs].every(isText) && [seconds, ...rest].every(isCount);
}

function isBlobRow(columns: Columns): boolean {
  const [sha256, ...rest] = columns;
  return isIntact(columns) && isDigest(sha256) && rest.every(isCount);
}

function columnsOf({ size, mtime, ctime, inode }: Stat): Columns {
  return [size, mtime, ctime, inode];
}

type StatColumns = [size: number, mtime: number, ctime: number, inode: number];

function toTraceRow(columns: Columns): TraceRow {
  const [key, instance, stage, run, started, seconds, outputs, size, mtime, ctime, inode] =
    columns as [string, string, string, string, string, number, string, ...StatColumns];
  return { key, instance, stage, run, started, seconds, outputs, size, mtime, ctime, inode };
}

function toBlobRow(columns: Columns): readonly [sha256: string, Stat] {
  const [sha256, size, mtime, ctime, inode] = columns as [string, ...StatColumns];
  return [sha256, { size, mtime, ctime, inode }];
}

const STAT = "size REAL, mtime REAL, ctime REAL, inode REAL, sum INTEGER";
const SCHEMA = [
  `CREATE TABLE trace (key TEXT PRIMARY KEY, instance TEXT, stage TEXT, run TEXT, started TEXT, seconds REAL, outputs TEXT, ${STAT}) WITHOUT ROWID`,
  "CREATE INDEX trace_instance ON trace (instance, run, started)",
  "CREATE INDEX trace_stage ON trace (stage, run, started)",
  `CREATE TABLE blob (sha256 TEXT PRIMARY KEY, ${STAT})`,
];

/** The open catalogue of a store. */
export class Catalog {
  readonly #database: CatalogDatabase;
  /** Rows read ahead. A stale one does no harm: the file it describes is looked at in any case. */
  readonly #traces = new Map<string, TraceRow>();
  readonly #blobs = new Map<string, Stat>();

  /**
   * Opens the catalogue at a path, or without one a new one in memory.
   *
   * @param fill Puts the rows of all traces into a new catalogue.
   * @param o.orInMemory Whether it goes on in memory where nothing can be written to its place, or no more.
   */
  constructor(
    path: string | undefined,
    fill: (catalog: Catalog) => void,
    { orInMemory = false } = {},
  ) {
    const content = { schema: SCHEMA, fill: () => fill(this), orInMemory };
    this.#database = new CatalogDatabase(path, content);
    this.#database.begin();
  }

  /** Whether it is nowhere but in memory, and ends with the process. */
  get inMemory(): boolean {
    return this.#database.inMemory;
  }

  /** Reads what a run made in two strokes: asking for ten thousand rows one by one takes longer. */
  readAhead(run: string): void {
    const traces = this.#traceRows("SELECT * FROM trace WHERE run = ?", run);
    for (const row of traces) this.#traces.set(row.key, row);
    const blobs = this.#blobRows(
      "SELECT * FROM blob ORDER BY rowid DESC LIMIT ?",
      4 * traces.length,
    );
    for (const [sha256, stat] of blobs) this.#blobs.set(sha256, stat);
  }

  trace(key: string): TraceRow | undefined {
    return this.#traces.get(key) ?? this.#traceRows("SELECT * FROM trace WHERE key = ?", key)[0];
  }

  /** Every row of a trace. */
  traces(): readonly TraceRow[] {
    return this.#traceRows("SELECT * FROM trace");
  }

  /** The most recent trace of an instance in a run. */
  latest(instance: string, run: string): TraceRow | undefined {
    return this.#traceRows(
      "SELECT * FROM trace WHERE instance = ? AND run = ? ORDER BY started DESC LIMIT 1",
      ...[instance, run],
    )[0];
  }

  /** Seconds that recent instances of a stage took in a run, newest first. */
  recentSeconds(stage: string, run: string): number[] {
    return this.#traceRows(
      "SELECT * FROM trace WHERE stage = ? AND run = ? ORDER BY started DESC LIMIT 25",
      ...[stage, run],
    ).map(({ seconds }) => seconds);
  }

  putTrace(row: TraceRow): void {
    this.#traces.delete(row.key);
    const { key, instance, stage, run, started, seconds, outputs } = row;
    this.#database.run(
      "INSERT OR REPLACE INTO trace VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      withSum([key, instance, stage, run, started, seconds, outputs, ...columnsOf(row)]),
    );
  }

  removeTrace(key: string): void {
    this.#traces.delete(key);
    this.#database.run("DELETE FROM trace WHERE key = ?", [key]);
  }

  /** The stat a blob had when its content was last known to be right. */
  blob(sha256: string): Stat | undefined {
    return this.#blobs.get(sha256) ??
      this.#blobRows("SELECT * FROM blob WHERE sha256 = ?", sha256)[0]?.[1];
  }

  putBlob(sha256: string, stat: Stat): void {
    this.#blobs.delete(sha256);
    this.#database.run(
      "INSERT OR REPLACE INTO blob VALUES (?, ?, ?, ?, ?, ?)",
      withSum([sha256, ...columnsOf(stat)]),
    );
  }

  removeBlob(sha256: string): void {
    this.#blobs.delete(sha256);
    this.#database.run("DELETE FROM blob WHERE sha256 = ?", [sha256]);
  }

  /** Removes the catalogue and fills a new one from the traces. */
  rebuild(): void {
    this.#traces.clear();
    this.#blobs.clear();
    this.#database.startAgain();
  }

  close(): void {
    this.#database.close();
  }

  #traceRows(sql: string, ...values: string[]): TraceRow[] {
    return this.#database.all(sql, { values, isIntact: isTraceRow }).map(toTraceRow);
  }

  #blobRows(sql: string, value: string | number): (readonly [sha256: string, Stat])[] {
    return this.#database.all(sql, { values: [value], isIntact: isBlobRow }).map(toBlobRow);
  }
}

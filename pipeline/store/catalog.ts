/**
 * A catalogue of the store, so that a run with nothing to do reads one database instead of every
 * trace. It holds no truth of its own: a row is used only while the file it describes is as it was
 * when it was read, and only to decide that there is nothing to do. It can be deleted at any time, and
 * whatever is wrong with it, it is dropped and filled from the traces again.
 *
 * @module
 */
import { crc32 } from "node:zlib";
import { CatalogDatabase } from "./catalog_database.ts";
import { isNothing, toStat } from "./files.ts";
import type { Trace } from "./trace.ts";

/** What tells that a file was written to: nobody can set a change time. */
export interface Stat {
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtime: number;
  /** When content or inode were last changed, in milliseconds since 1970. Deno gives whole seconds. */
  readonly ctime: number;
  readonly inode: number;
}

/** The stat of a file, or `undefined` if there is none. */
export function statOf(path: string): Stat | undefined {
  try {
    return toStat(Deno.statSync(path));
  } catch (error) {
    if (isNothing(error)) return undefined;
    throw error;
  }
}

/** Whether two stats agree. */
export function sameStat(a: Stat, b: Stat): boolean {
  return a.size === b.size && a.mtime === b.mtime && a.ctime === b.ctime && a.inode === b.inode;
}

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

/** What the catalogue knows of one blob: its stat when its content was last known to be right. */
export interface BlobRow extends Stat {
  readonly sha256: string;
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

/** Every row carries this sum over its fields: it tells a garbled row, not a forged one. */
function traceSum(row: TraceRow): number {
  return crc32(
    `${row.key}\n${row.instance}\n${row.stage}\n${row.run}\n${row.started}\n${row.seconds}\n` +
      `${row.outputs}\n${row.size}\n${row.mtime}\n${row.ctime}\n${row.inode}`,
  );
}

function blobSum(row: BlobRow): number {
  return crc32(`${row.sha256}\n${row.size}\n${row.mtime}\n${row.ctime}\n${row.inode}`);
}

type Summed<Row> = Row & { readonly sum: number };

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
  readonly #blobs = new Map<string, BlobRow>();

  /**
   * Opens the catalogue at a path, or without one a new one in memory.
   *
   * @param fill Puts the rows of all traces into a new catalogue.
   */
  constructor(path: string | undefined, fill: (catalog: Catalog) => void) {
    this.#database = new CatalogDatabase(path, { schema: SCHEMA, fill: () => fill(this) });
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
    const blobs = this.#database.all<Summed<BlobRow>>(
      "SELECT * FROM blob ORDER BY rowid DESC LIMIT ?",
      { values: [4 * traces.length], isIntact: (row) => blobSum(row) === row.sum },
    );
    for (const row of blobs) this.#blobs.set(row.sha256, row);
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
      ...[key, instance, stage, run, started, seconds, outputs],
      ...[row.size, row.mtime, row.ctime, row.inode, traceSum(row)],
    );
  }

  removeTrace(key: string): void {
    this.#traces.delete(key);
    this.#database.run("DELETE FROM trace WHERE key = ?", key);
  }

  /** The stat a blob had when its content was last known to be right. */
  blob(sha256: string): Stat | undefined {
    return this.#blobs.get(sha256) ?? this.#database.all<Summed<BlobRow>>(
      "SELECT * FROM blob WHERE sha256 = ?",
      { values: [sha256], isIntact: (row) => blobSum(row) === row.sum },
    )[0];
  }

  putBlob(sha256: string, stat: Stat): void {
    this.#blobs.delete(sha256);
    this.#database.run(
      "INSERT OR REPLACE INTO blob VALUES (?, ?, ?, ?, ?, ?)",
      ...[sha256, stat.size, stat.mtime, stat.ctime, stat.inode, blobSum({ sha256, ...stat })],
    );
  }

  removeBlob(sha256: string): void {
    this.#blobs.delete(sha256);
    this.#database.run("DELETE FROM blob WHERE sha256 = ?", sha256);
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
    return this.#database.all<Summed<TraceRow>>(sql, {
      values,
      isIntact: (row) => traceSum(row) === row.sum,
    });
  }
}

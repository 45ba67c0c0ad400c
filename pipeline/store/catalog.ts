/**
 * A catalogue of the store, so that a run with nothing to do reads one database instead of every
 * trace. It holds no truth of its own: each row is used only while the file it describes has the
 * size and time it was read with, and the whole can be deleted at any time.
 *
 * @module
 */
import { DatabaseSync, type StatementSync } from "node:sqlite";

/** Size and modification time of a file, enough to notice that it was written to. */
export interface Stat {
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly mtime: number;
  readonly inode: number;
}

/** The stat of a file, or `undefined` if there is none. */
export function statOf(path: string): Stat | undefined {
  try {
    const { size, mtime, ino } = Deno.statSync(path);
    return { size, mtime: mtime?.getTime() ?? 0, inode: ino ?? 0 };
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return undefined;
    }
    throw error;
  }
}

/** Whether two stats agree. */
export function sameStat(a: Stat, b: Stat): boolean {
  return a.size === b.size && a.mtime === b.mtime && a.inode === b.inode;
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

const VERSION = 2;
const TABLES = `
  CREATE TABLE trace (
    key TEXT PRIMARY KEY, instance TEXT NOT NULL, stage TEXT NOT NULL, run TEXT NOT NULL, started TEXT NOT NULL,
    seconds REAL NOT NULL, outputs TEXT NOT NULL,
    size INTEGER NOT NULL, mtime REAL NOT NULL, inode INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX trace_instance ON trace (instance, run, started);
  CREATE INDEX trace_stage ON trace (stage, run, started);
  CREATE TABLE blob (
    sha256 TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime REAL NOT NULL, inode INTEGER NOT NULL
  );
  CREATE TABLE bundle (stage TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
  PRAGMA user_version = ${VERSION};
`;

/** The open catalogue of a store. */
export class Catalog {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** Rows read ahead. A stale one does no harm: the file it describes is looked at in any case. */
  readonly #traces = new Map<string, TraceRow>();
  readonly #blobs = new Map<string, Stat>();
  /** Whether the catalogue was just made and knows nothing of what the store holds. */
  readonly isNew: boolean;

  /** Whether it stands nowhere but in memory, and ends with the process. */
  readonly inMemory: boolean;

  /** Opens the catalogue at a path, or without one a new one in memory. */
  constructor(path?: string) {
    this.inMemory = path === undefined;
    if (path === undefined) {
      this.#database = new DatabaseSync(":memory:");
      this.#database.exec(TABLES);
      this.isNew = true;
      return;
    }
    // One at a time: SQLite does not take two processes making one database at once.
    using turn = Deno.openSync(`${path}.lock`, { write: true, create: true });
    turn.lockSync(true);
    let database: DatabaseSync | undefined;
    let isNew = false;
    try {
      database = new DatabaseSync(path);
      database.exec(
        "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF",
      );
      if (version(database) !== VERSION) throw new Error("another version");
      database.prepare("SELECT count(*) FROM bundle").get();
    } catch (error) {
      if (error instanceof Deno.errors.PermissionDenied || isBusy(error)) throw error;
      database?.close();
      for (const suffix of ["", "-wal", "-shm"]) removeIfThere(path + suffix);
      database = new DatabaseSync(path);
      database.exec(
        "PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF",
      );
      // Two processes may find it missing at once: the second sees the first one's tables.
      database.exec("BEGIN IMMEDIATE");
      if (version(database) !== VERSION) {
        database.exec(TABLES);
        isNew = true;
      }
      database.exec("COMMIT");
    }
    this.#database = database;
    this.isNew = isNew;
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, statement = this.#database.prepare(sql));
    return statement;
  }

  /** Runs many writes as one. */
  transaction(work: () => void): void {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      work();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.#database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Reads what a run made in two strokes: asking for ten thousand rows one by one takes longer. */
  readAhead(run: string): void {
    const traces = this.#prepare("SELECT * FROM trace WHERE run = ?").all(run);
    for (const row of traces as unknown as TraceRow[]) this.#traces.set(row.key, row);
    const blobs = this.#prepare("SELECT * FROM blob ORDER BY rowid DESC LIMIT ?")
      .all(4 * traces.length);
    for (const row of blobs as unknown as (Stat & { sha256: string })[]) {
      this.#blobs.set(row.sha256, row);
    }
  }

  trace(key: string): TraceRow | undefined {
    return this.#traces.get(key) ??
      this.#prepare("SELECT * FROM trace WHERE key = ?").get(key) as TraceRow | undefined;
  }

  /** The most recent trace of an instance in a run. */
  latest(instance: string, run: string): TraceRow | undefined {
    return this.#prepare(
      "SELECT * FROM trace WHERE instance = ? AND run = ? ORDER BY started DESC LIMIT 1",
    ).get(instance, run) as TraceRow | undefined;
  }

  /** Seconds that recent instances of a stage took in a run, newest first. */
  recentSeconds(stage: string, run: string): number[] {
    return this.#prepare(
      "SELECT seconds FROM trace WHERE stage = ? AND run = ? ORDER BY started DESC LIMIT 25",
    ).all(stage, run).map((row) => row["seconds"] as number);
  }

  putTrace(row: TraceRow): void {
    this.#traces.delete(row.key);
    this.#prepare("INSERT OR REPLACE INTO trace VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)").run(
      row.key,
      row.instance,
      row.stage,
      row.run,
      row.started,
      row.seconds,
      row.outputs,
      row.size,
      row.mtime,
      row.inode,
    );
  }

  removeTrace(key: string): void {
    this.#traces.delete(key);
    this.#prepare("DELETE FROM trace WHERE key = ?").run(key);
  }

  /** The stat a blob had when its content was last known to be right. */
  blob(sha256: string): Stat | undefined {
    return this.#blobs.get(sha256) ??
      this.#prepare("SELECT size, mtime, inode FROM blob WHERE sha256 = ?").get(sha256) as
        | Stat
        | undefined;
  }

  putBlob(sha256: string, stat: Stat): void {
    this.#blobs.delete(sha256);
    this.#prepare("INSERT OR REPLACE INTO blob VALUES (?, ?, ?, ?)")
      .run(sha256, stat.size, stat.mtime, stat.inode);
  }

  removeBlob(sha256: string): void {
    this.#blobs.delete(sha256);
    this.#prepare("DELETE FROM blob WHERE sha256 = ?").run(sha256);
  }

  bundle(stage: string): string | undefined {
    return this.#prepare("SELECT record FROM bundle WHERE stage = ?").get(stage)?.["record"] as
      | string
      | undefined;
  }

  putBundle(stage: string, record: string): void {
    this.#prepare("INSERT OR REPLACE INTO bundle VALUES (?, ?)").run(stage, record);
  }

  close(): void {
    this.#database.close();
  }
}

function version(database: DatabaseSync): number {
  return database.prepare("PRAGMA user_version").get()?.["user_version"] as number;
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && /database is locked|readonly|unable to open/.test(error.message);
}

function removeIfThere(path: string): void {
  try {
    Deno.removeSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/**
 * A database that is a cache: on whatever error, and on a row that is not as it was written, it is
 * removed and filled again.
 *
 * @module
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { isRefused, LockstepError, refusal } from "../errors.ts";
import { lookAt } from "../files.ts";
import { openLockFile } from "./mutex.ts";

declare module "node:sqlite" {
  /** Deno has this, its types do not. */
  interface StatementSync {
    setReturnArrays(enabled: boolean): void;
  }
}

/** What a database is to hold. */
export interface CatalogContent {
  /** The statements that make its tables. */
  readonly schema: readonly string[];
  /** Fills a new one. */
  readonly fill: () => void;
  /** Whether it goes on in memory where nothing can be written to its place, or no more. */
  readonly orInMemory: boolean;
}

/** Where there is no room for what it keeps beside a database, SQLite says no more than this. */
export const NO_ROOM_BESIDE = "disk I/O error";

/** Whether nothing can be written to a place, by permission or for want of room. */
function isUnwritable(error: unknown): boolean {
  return isRefused(error) ||
    error instanceof Error &&
      (refusal(error.message) === "full" || error.message === NO_ROOM_BESIDE);
}

/** See the module's comment. */
export class CatalogDatabase {
  /** In memory, there is none. */
  #path: string | undefined;
  readonly #content: CatalogContent;
  readonly #statements = new Map<string, StatementSync>();
  #database: DatabaseSync;
  #inode: number | undefined;
  #isNew: boolean;
  #isFilling = false;

  /** Opens the database at a path, or without one a new one in memory. */
  constructor(path: string | undefined, content: CatalogContent) {
    this.#path = path;
    this.#content = content;
    [this.#database, this.#isNew] = this.#openAnywhere();
  }

  get inMemory(): boolean {
    return this.#path === undefined;
  }

  /** Fills the database if it is a new one. */
  begin(): void {
    try {
      this.#fill();
    } catch (error) {
      if (!this.#goesToMemory(error)) throw error;
      this.#goToMemory();
      this.#fill();
    }
  }

  #fill(): void {
    if (!this.#isNew) return;
    this.#isNew = false;
    this.#isFilling = true;
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      this.#content.fill();
      this.#database.exec("COMMIT");
    } catch (error) {
      this.close();
      throw error;
    } finally {
      this.#isFilling = false;
    }
  }

  /** The rows a query gives: values in the order of its columns. */
  all(
    sql: string,
    { values, isIntact }: {
      readonly values: readonly SQLInputValue[];
      readonly isIntact: (row: readonly SQLInputValue[]) => boolean;
    },
  ): readonly (readonly SQLInputValue[])[] {
    return this.#attempt(() => {
      const rows = this.#prepare(sql).all(...values) as unknown as SQLInputValue[][];
      if (!rows.every(isIntact)) throw new Error("A row is not as it was written");
      return rows;
    });
  }

  /** Carries a statement out. */
  run(sql: string, values: readonly SQLInputValue[]): void {
    this.#attempt(() => this.#prepare(sql).run(...values));
  }

  /** Removes the database and fills a new one. */
  startAgain(): void {
    this.close();
    [this.#database, this.#isNew] = this.#openAnywhere({ drop: true });
    this.begin();
  }

  close(): void {
    this.#statements.clear();
    try {
      this.#database.close();
    } catch { /* it was closed, or can't even be closed */ }
  }

  #attempt<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (this.#isFilling) throw error;
      if (this.#goesToMemory(error)) {
        this.#goToMemory();
        this.begin();
      } else if (isOutside(error)) throw error;
      else this.startAgain();
      return work();
    }
  }

  #goesToMemory(error: unknown): boolean {
    return this.#content.orInMemory && this.#path !== undefined && isUnwritable(error);
  }

  #goToMemory(): void {
    this.close();
    this.#path = undefined;
    [this.#database, this.#isNew] = this.#open();
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (!statement) {
      statement = this.#database.prepare(sql);
      statement.setReturnArrays(true);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #openAnywhere(options = {}): [database: DatabaseSync, isNew: boolean] {
    try {
      return this.#open(options);
    } catch (error) {
      if (!this.#goesToMemory(error)) throw error;
      this.#path = undefined;
      return this.#open();
    }
  }

  /** Opens the database. One process at a time: SQLite does not take two making one at once. */
  #open({ drop = false } = {}): [database: DatabaseSync, isNew: boolean] {
    const path = this.#path;
    if (path === undefined) return [this.#create(":memory:"), true];
    using turn = openLockFile(`${path}.lock`);
    turn.lockSync(true);
    const files = ["", "-wal", "-shm", "-journal"].map((suffix) => path + suffix);
    clearWay(files);
    const before = lookAt(path)?.stat.inode;
    // Another process may have put a new one in the place of the one that failed here.
    if (drop && before === this.#inode) remove(files);
    let isNew = false;
    let database: DatabaseSync | undefined;
    try {
      database = connect(path);
      if (!this.#hasSchema(database)) throw new Error("Another schema");
    } catch (error) {
      database?.close();
      if (isOutside(error)) throw error;
      remove(files);
      database = this.#create(path);
      isNew = true;
    }
    this.#inode = lookAt(path)?.stat.inode;
    return [database, isNew];
  }

  #create(path: string): DatabaseSync {
    const database = connect(path);
    database.exec(this.#content.schema.join(";\n"));
    return database;
  }

  #hasSchema(database: DatabaseSync): boolean {
    const found = database.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL").all()
      .map((row) => String(row["sql"]));
    const { schema } = this.#content;
    return found.length === schema.length && schema.every((sql) => found.includes(sql));
  }
}

function connect(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA busy_timeout = 10000; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  return database;
}

/** Whether an error is of the place or of other processes, so that another database meets it too. */
function isOutside(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied || error instanceof LockstepError ||
    error instanceof Error &&
      /database is locked|database or disk is full|unable to open|os error/.test(error.message);
}

/** Removes what is no file from where one belongs; SQLite would wait for a pipe. */
function clearWay(paths: readonly string[]): void {
  for (const path of paths) {
    const found = lookAt(path);
    if (!found || found.kind === "a file") continue;
    if (found.kind === "a folder") {
      throw new LockstepError(
        `Cannot open the catalogue ${path}: it must be a file, found a folder`,
      );
    }
    Deno.removeSync(path);
  }
}

function remove(paths: readonly string[]): void {
  for (const path of paths) if (lookAt(path)) Deno.removeSync(path);
}

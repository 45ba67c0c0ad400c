/**
 * What runs that go on count on: the keys they reuse or make, and the code they run. A run writes down
 * what it is about to look for before it looks, so whoever removes results beside it knows. What a run
 * leaves that does not finish is in no record: its claims stay, until a run of its name finishes.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { isNothing, lookAt, readText, sortedEntries } from "../files.ts";
import { isSha256, type Sha256 } from "../key/hash.ts";
import { type HeldLock, isHeld, isLocked, tryLock } from "./mutex.ts";
import { holdOffRemoval } from "./removal_lock.ts";
import { namingPath } from "./sealed.ts";
import { locksFolder, makeFolder, type Workspace } from "./workspace.ts";

/** The claims of one run. Nothing is written before the first. */
export class Claims {
  readonly #workspace: Workspace;
  readonly #run: string;
  readonly #claimed = new Set<Sha256>();
  /** Of those, what is not written yet. */
  #pending: Sha256[] = [];
  #open: Promise<{ readonly path: string; readonly lock: HeldLock }> | undefined;

  /** @param run Experiment and profile, as in a record's name. */
  constructor(workspace: Workspace, run: string) {
    this.#workspace = workspace;
    this.#run = run;
  }

  /** Claims a digest, within {@linkcode keep}: whatever is there of it then, stays. */
  claim(digest: Sha256): void {
    if (this.#claimed.has(digest)) return;
    this.#claimed.add(digest);
    this.#pending.push(digest);
  }

  /** Does something while nothing is removed; what is claimed meanwhile is not removed later either. */
  async keep<T>(work: () => T | Promise<T>): Promise<T> {
    const held = await holdOffRemoval(this.#workspace);
    try {
      return await work();
    } finally {
      try {
        await this.#write();
      } finally {
        held.release();
      }
    }
  }

  async #write(): Promise<void> {
    const { path } = await (this.#open ??= this.#begin());
    const text = this.#pending.map((digest) => `${digest}\n`).join("");
    this.#pending = [];
    if (text === "") return;
    try {
      Deno.writeTextFileSync(path, text, { append: true });
    } catch (error) {
      throw namingPath(error, path);
    }
  }

  async #begin() {
    const name = `claims-${this.#run}-${crypto.randomUUID()}`;
    const lock = await tryLock(locksFolder(this.#workspace), name);
    if (!isHeld(lock)) throw new Error(`Claims ${name} are held by process ${lock.pid}`);
    makeFolder(this.#workspace, claimsFolder(this.#workspace));
    return { path: join(claimsFolder(this.#workspace), name), lock };
  }

  /**
   * Gives everything up: what the run left names what it made.
   *
   * @param o.isInterrupted Whether it did not: then its claims stay, as those of a killed run.
   */
  async close({ isInterrupted = false } = {}): Promise<void> {
    const open = await this.#open?.catch(() => undefined);
    if (!open) return;
    if (!isInterrupted && lookAt(open.path)) Deno.removeSync(open.path);
    open.lock.release();
  }
}

/** Where claims are kept: a file for each run. */
export function claimsFolder({ root }: Pick<Workspace, "root">): string {
  return join(root, "claims");
}

/** What runs that go on have claimed, and the files of those that ended before they finished. */
export async function readClaims(
  workspace: Workspace,
): Promise<{ readonly claimed: ReadonlySet<Sha256>; readonly dead: readonly string[] }> {
  const claimed = new Set<Sha256>(), dead: string[] = [];
  for (const { name } of sortedEntries(claimsFolder(workspace))) {
    const path = join(claimsFolder(workspace), name);
    if (!await isLocked(locksFolder(workspace), name)) dead.push(path);
    else for (const digest of digestsIn(path, "wait until the run has ended")) claimed.add(digest);
  }
  return { claimed, dead };
}

/** What a run had claimed that ended before it finished. */
export function interruptedClaims(path: string): Sha256[] {
  return digestsIn(
    path,
    'give up what that run left with "deno task gc --delete --include interrupted"',
  );
}

/** Removes the claims of runs of a name that ended before they finished. */
export async function dropInterrupted(run: string, workspace: Workspace): Promise<void> {
  const { dead } = await readClaims(workspace);
  for (const path of dead) {
    const ofRun = path.slice(path.lastIndexOf("/") + 1).replace(
      /^claims-(.*)-[^-]+(-[^-]+){4}$/,
      "$1",
    );
    if (ofRun !== run) continue;
    try {
      Deno.removeSync(path);
    } catch (error) {
      if (!isNothing(error)) throw error;
    }
  }
}

/** The claims in a file; `advice` says what to do if something else is there. */
function digestsIn(path: string, advice: string): Sha256[] {
  // What a killed run had not written whole, it did not count on yet.
  const lines = textOf(path).split("\n").slice(0, -1);
  return lines.map((line) => {
    if (isSha256(line)) return line;
    throw new LockstepError(
      `Cannot tell what a run counts on: ${path} must hold digests, found ` +
        `${JSON.stringify(line.slice(0, 80))}; ${advice}`,
    );
  });
}

/** Nothing, if the run has ended since. */
function textOf(path: string): string {
  try {
    return readText(path) ?? "";
  } catch (error) {
    if (isNothing(error)) return "";
    throw error;
  }
}

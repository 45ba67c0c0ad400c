/**
 * What runs that go on count on: the keys they reuse or make, and the code they run. A run writes down
 * what it is about to look for before it looks, so whoever removes results beside it knows.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { isNothing, lookAt, readText, sortedEntries } from "../files.ts";
import { isSha256, type Sha256 } from "../key/hash.ts";
import { type HeldLock, isHeld, isLocked, tryLock } from "./mutex.ts";
import { holdOffRemoval } from "./removal_lock.ts";
import { locksFolder, makeFolder, type Workspace } from "./workspace.ts";

/** The claims of one run. Nothing is written before the first. */
export class Claims {
  readonly #workspace: Workspace;
  readonly #claimed = new Set<Sha256>();
  /** Of those, what is not written yet. */
  #pending: Sha256[] = [];
  #open: Promise<{ readonly path: string; readonly lock: HeldLock }> | undefined;

  constructor(workspace: Workspace) {
    this.#workspace = workspace;
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
      // The system says of a full device neither which nor for what.
      if (error instanceof Error) error.message += `: write '${path}'`;
      throw error;
    }
  }

  async #begin() {
    const name = `claims-${crypto.randomUUID()}`;
    const lock = await tryLock(locksFolder(this.#workspace), name);
    if (!isHeld(lock)) throw new Error(`Claims ${name} are held by process ${lock.pid}`);
    makeFolder(this.#workspace, claimsFolder(this.#workspace));
    return { path: join(claimsFolder(this.#workspace), name), lock };
  }

  /** Gives everything up: what the run left names what it made. */
  async close(): Promise<void> {
    const open = await this.#open?.catch(() => undefined);
    if (!open) return;
    if (lookAt(open.path)) Deno.removeSync(open.path);
    open.lock.release();
  }
}

/** Where claims are kept: a file for each run. */
export function claimsFolder({ root }: Pick<Workspace, "root">): string {
  return join(root, "claims");
}

/** What runs that go on have claimed, and the files of those that ended without a word. */
export async function readClaims(
  workspace: Workspace,
): Promise<{ readonly claimed: ReadonlySet<Sha256>; readonly dead: readonly string[] }> {
  const claimed = new Set<Sha256>(), dead: string[] = [];
  for (const { name } of sortedEntries(claimsFolder(workspace))) {
    const path = join(claimsFolder(workspace), name);
    if (!await isLocked(locksFolder(workspace), name)) {
      dead.push(path);
      continue;
    }
    for (const line of textOf(path).split("\n")) {
      if (isSha256(line)) claimed.add(line);
      else if (line !== "") {
        throw new LockstepError(
          `Cannot tell what a run counts on: ${path} must hold digests, found ` +
            `${JSON.stringify(line.slice(0, 80))}; wait until the run has ended`,
        );
      }
    }
  }
  return { claimed, dead };
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

/**
 * What is to be kept: the runs, tags, locks and published files from which everything else that is kept
 * is reached.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { lookAt, readText } from "../files.ts";
import type { Sha256 } from "../key/hash.ts";
import { readEndings } from "../run/ending.ts";
import { Batches } from "../run/executor/slurm/batches.ts";
import type { JobOrder } from "../run/executor/slurm/order.ts";
import { readPublications } from "../run/publications.ts";
import { latestNames, latestPath, type LatestRun, readLatest } from "../store/latest.ts";
import { type Lock, lockNames, readLock } from "../store/lockfile.ts";
import { readTag, tagNames } from "../store/tags.ts";
import type { Workspace } from "../store/workspace.ts";
import { lockedKeys } from "./locked.ts";
import type { TraceFile } from "./reached.ts";

/** What keeps results. */
export interface Roots {
  /** Run or tag or lock, by its name, to the keys that it keeps. */
  readonly runs: ReadonlyMap<string, readonly Sha256[]>;
  readonly tags: ReadonlyMap<string, readonly Sha256[]>;
  readonly locks: ReadonlyMap<string, readonly Sha256[]>;
  /** What jobs are to make that are queued, or run, or ended while no run waited for them. */
  readonly orders: readonly JobOrder[];
  /** The keys behind what is in `outputs/`, or is about to be. */
  readonly published: readonly Sha256[];
  /** Keys that a run or tag failed at: of those the logs are kept. */
  readonly failed: readonly Sha256[];
  /** Recorded runs that keep nothing any more. */
  readonly older: readonly LatestRun[];
}

/** Where roots are read. */
export interface RootsPlace {
  /** The project's. */
  readonly root: string;
  readonly workspace: Pick<Workspace, "root">;
  /** How many recorded runs keep what they made, the last ones first. */
  readonly latest: number;
  /** All of the store. */
  readonly traces: readonly TraceFile[];
}

/**
 * Reads the roots.
 *
 * @throws {LockstepError} If one is damaged: what it keeps is not known then.
 */
export function readRoots({ root, workspace, latest, traces }: RootsPlace): Roots {
  const strict: Workspace = { root: workspace.root, setAside: refuse };
  const recorded = latestNames(strict).flatMap((name) => {
    const run = readLatest(name, strict);
    return run ? [{ name, run, mtime: lookAt(latestPath(name, strict))?.stat.mtime ?? 0 }] : [];
  }).sort((a, b) => b.mtime - a.mtime || (a.name < b.name ? -1 : 1));
  const tags = tagNames(strict).flatMap((name) => {
    const run = readTag(name, strict);
    return run ? [{ name, run }] : [];
  });
  const kept = recorded.slice(0, latest);
  return {
    runs: new Map(kept.map(({ name, run }) => [name, Object.values(run.keys)])),
    tags: new Map(tags.map(({ name, run }) => [name, Object.values(run.keys)])),
    locks: new Map(
      lockNames(root).map((name) => [name, lockedKeys(readWhole(root, name), traces)]),
    ),
    orders: [...new Batches(strict).open()],
    published: [
      readPublications(strict),
      ...[...readEndings(strict).values()].map(({ files }) => files),
    ].flatMap((files) => Object.values(files).map(({ key }) => key)),
    failed: [...kept, ...tags].flatMap(({ run }) => Object.values(run.failed ?? {})),
    older: recorded.slice(latest).map(({ run }) => run),
  };
}

function refuse(path: string, message: string): never {
  throw new LockstepError(
    `Cannot tell what is to be kept: ${path} must be intact, and is not: ${message}; run ` +
      '"deno task audit --repair"; a damaged tag has to be removed with "deno task tag NAME --delete"',
  );
}

function readWhole(root: string, name: string): Lock {
  const path = join(root, name);
  const lock = readLock(path, name);
  if (lock === undefined) return new Map();
  if (lock.size === 0 || !readText(path)?.startsWith("#")) {
    throw new LockstepError(
      `Cannot tell what is to be kept: ${name} must be intact, and is not: it must begin with what it ` +
        'is of, and hold results; restore the file, or run "deno task reproduce" to write it again',
    );
  }
  return lock;
}

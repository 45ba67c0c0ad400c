/**
 * The record of the latest run of an experiment and profile: how it was started and which key each
 * instance had.
 *
 * @module
 */
import { join } from "node:path";
import type { Sha256 } from "../key/hash.ts";
import { sortedEntries } from "../files.ts";
import { readSealed, writeSealed } from "./sealed.ts";
import { isDigest, isRecord, isRecordOf, isText } from "./shape.ts";
import type { Workspace } from "./workspace.ts";

/** What the latest run of an experiment and profile held. */
export interface LatestRun {
  readonly experiment: string;
  readonly profile: string;
  readonly backend: string;
  /** The name of the graphics adapter, on `webgpu`. */
  readonly adapter?: string;
  /** The `--set` options and the mirror it was started with. */
  readonly set: readonly string[];
  readonly mirror?: string;
  /** The commit that was checked out as it ended, with `, edited` if files differed from it. */
  readonly commit?: string;
  /** Instance to key, for all instances that ended well. */
  readonly keys: Readonly<Record<string, Sha256>>;
  /** Instance to the key that it last failed at, for those that did. */
  readonly failed?: Readonly<Record<string, Sha256>>;
  /** Digest of the lock file as this run left it; absent if it wrote none. */
  readonly lock?: Sha256;
}

/** Where the record of a run is kept. */
export function latestPath(name: string, { root }: Pick<Workspace, "root">): string {
  return join(root, "runs", `${name}.json`);
}

/** The latest run named `experiment.profile`; `undefined` if none is recorded intact. */
export function readLatest(name: string, workspace: Workspace): LatestRun | undefined {
  return readSealed(latestPath(name, workspace), {
    parse: (value) => {
      const run = toLatestRun(value);
      return run && `${run.experiment}.${run.profile}` === name ? run : undefined;
    },
    onDamage: (path, message) => workspace.setAside(path, message),
  });
}

/** The record of a run that a parsed text holds; `undefined` if it is none. */
export function toLatestRun(value: unknown): LatestRun | undefined {
  if (!isRecord(value)) return undefined;
  const { experiment, profile, backend, adapter, set, mirror, commit, keys, failed, lock } = value;
  const isRun = [experiment, profile, backend].every(isText) && Array.isArray(set) &&
    set.every(isText) && isRecordOf(keys, isDigest) && (mirror === undefined || isText(mirror)) &&
    (commit === undefined || isText(commit)) &&
    (adapter === undefined || isText(adapter)) &&
    (failed === undefined || isRecordOf(failed, isDigest)) &&
    (lock === undefined || isDigest(lock));
  return isRun ? value as unknown as LatestRun : undefined;
}

/** Records a run as the latest of its name. Returns whether the record is another than before. */
export function writeLatest(run: LatestRun, workspace: Workspace): boolean {
  return writeSealed(latestPath(`${run.experiment}.${run.profile}`, workspace), run);
}

/** Sets a run's record aside: no experiment has that run any more. */
export function dropLatest(name: string, workspace: Workspace): void {
  workspace.setAside(latestPath(name, workspace), "no experiment has this run");
}

/** The names of all recorded runs, sorted. */
export function latestNames({ root }: Pick<Workspace, "root">): string[] {
  return sortedEntries(join(root, "runs")).map(({ name }) => name)
    .filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5));
}

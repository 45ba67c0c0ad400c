/**
 * The record of the latest run of an experiment and profile: how it was started and which key each
 * instance had.
 *
 * @module
 */
import { join } from "node:path";
import type { Sha256 } from "../key/hash.ts";
import { readSealed, writeSealed } from "./sealed.ts";
import type { Store } from "./store.ts";

/** What the latest run of an experiment and profile held. */
export interface LatestRun {
  readonly experiment: string;
  readonly profile: string;
  readonly backend: string;
  /** The `--set` options and the mirror it was started with. */
  readonly set: readonly string[];
  readonly mirror?: string;
  /** Instance to key, for all instances that ended well. */
  readonly keys: Readonly<Record<string, Sha256>>;
  /** Digest of the lock file as this run left it; absent if it wrote none. */
  readonly lock?: Sha256;
}

function pathOf(name: string, store: Store): string {
  return join(store.root, "runs", `${name}.json`);
}

/** The latest run named `experiment.profile`; `undefined` if none is recorded intact. */
export function readLatest(name: string, store: Store): LatestRun | undefined {
  return readSealed(pathOf(name, store), store.setAside.bind(store)) as LatestRun | undefined;
}

/** Records a run as the latest of its name. Returns whether the record is another than before. */
export function writeLatest(run: LatestRun, store: Store): boolean {
  return writeSealed(pathOf(`${run.experiment}.${run.profile}`, store), run);
}

/** Sets a run's record aside: no experiment has that run any more. */
export function dropLatest(name: string, store: Store): void {
  store.setAside(pathOf(name, store), "no experiment has this run");
}

/** The names of all recorded runs, sorted. */
export function latestNames(store: Store): string[] {
  return [...Deno.readDirSync(join(store.root, "runs"))].map((entry) => entry.name)
    .filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5)).sort();
}

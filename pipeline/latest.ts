/**
 * The record of the latest run of an experiment and profile: which key each instance had.
 *
 * @module
 */
import type { Sha256 } from "./hash.ts";
import { seal, SealError, unseal, writeAtomically } from "./sealed.ts";
import type { Store } from "./store.ts";

/** What the latest run of an experiment and profile held. */
export interface LatestRun {
  readonly experiment: string;
  readonly profile: string;
  readonly backend: string;
  /** Instance to key, for all instances that ended well. */
  readonly keys: Readonly<Record<string, Sha256>>;
  /** Published path below `outputs/` to digest of the file there. */
  readonly published: Readonly<Record<string, Sha256>>;
}

/** `fusion.smoke`. */
export function runName(run: { experiment: string; profile: string }): string {
  return `${run.experiment}.${run.profile}`;
}

/** The latest run of that name; `undefined` if there is none or its record is damaged. */
export function readLatest(name: string, store: Store): LatestRun | undefined {
  const path = store.runPath(name);
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  try {
    return unseal(text, path) as LatestRun;
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    store.setAside(path, error.message);
    return undefined;
  }
}

/** Records a run as the latest of its name. */
export function writeLatest(run: LatestRun, store: Store): void {
  const path = store.runPath(runName(run));
  const text = seal(run);
  try {
    if (Deno.readTextFileSync(path) === text) return;
  } catch { /* there is none yet */ }
  writeAtomically(path, text);
}

/** The names of all recorded runs, sorted. */
export function latestNames(store: Store): string[] {
  return [...Deno.readDirSync(`${store.root}/runs`)].map((entry) => entry.name)
    .filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -5)).sort();
}

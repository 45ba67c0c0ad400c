/**
 * Lays copies of published outputs in `outputs/`, for people. A file there is a copy, never a link:
 * whoever edits it can't damage the store.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { ConfigError } from "./errors.ts";
import type { Listener } from "./event.ts";
import type { Instance } from "./graph.ts";
import { hashFile, type Sha256 } from "./hash.ts";
import { statOf } from "./catalog.ts";
import type { Result } from "./run.ts";
import type { Store } from "./store.ts";

/** A file that is to stand below `outputs/`. */
export interface Publication {
  readonly instance: string;
  readonly sha256: Sha256;
}

/** Which file goes where, from the results of a run. */
export function publications(
  results: ReadonlyMap<Instance, Result>,
  store: Store,
): Map<string, Publication> {
  const files = new Map<string, Publication>();
  const add = (path: string, sha256: Sha256, instance: string) => {
    const other = files.get(path);
    if (other) {
      throw new ConfigError(
        `Cannot publish outputs/${path}: each path must come from one instance, and both ` +
          `${other.instance} and ${instance} write it`,
      );
    }
    files.set(path, { instance, sha256 });
  };
  for (const [instance, { outputs }] of results) {
    for (const output of Object.values(outputs)) {
      if (output.publish === undefined) continue;
      if (output.kind === "file") add(output.publish, output.sha256, instance.name);
      else {
        for (const [path, { sha256 }] of Object.entries(store.manifest(output.sha256))) {
          add(`${output.publish}/${path}`, sha256, instance.name);
        }
      }
    }
  }
  return files;
}

/**
 * Brings `outputs/` up to date: writes what is missing or differs, and removes what an earlier run
 * published and this one does not, unless someone changed it.
 */
export function publish(
  folder: string,
  files: ReadonlyMap<string, Publication>,
  before: Readonly<Record<string, Sha256>>,
  options: { readonly store: Store; readonly listener: Listener },
): void {
  const { store, listener } = options;
  for (const [path, { instance, sha256 }] of files) {
    const target = join(folder, path);
    if (holds(target, sha256)) continue;
    Deno.mkdirSync(dirname(target), { recursive: true });
    const scratch = `${target}.${Deno.pid}.tmp`;
    Deno.copyFileSync(store.blobPath(sha256), scratch);
    Deno.chmodSync(scratch, 0o644);
    Deno.renameSync(scratch, target);
    listener({ event: "published", path, instance });
  }
  for (const [path, sha256] of Object.entries(before)) {
    const target = join(folder, path);
    if (!files.has(path) && holds(target, sha256)) Deno.removeSync(target);
  }
}

function holds(path: string, digest: Sha256): boolean {
  return statOf(path)?.size !== undefined && hashFile(path) === digest;
}

/**
 * Lays copies of published outputs in `outputs/`, for people, and records which run laid which. A
 * file there is a copy, never a link: whoever edits it can't damage the store.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { statOf } from "./catalog.ts";
import { ConfigError } from "../errors.ts";
import type { Listener } from "../event.ts";
import type { Instance } from "../plan/graph.ts";
import { hashFile, type Sha256 } from "../key/hash.ts";
import type { Result } from "../run/run.ts";
import type { Workspace } from "./workspace.ts";
import { readSealed, writeSealed } from "./sealed.ts";
import type { LocalStore } from "./local_store.ts";
import { isDigest, isRecord, isRecordOf, isText } from "./shape.ts";
import { TRACE_PAGE } from "../views/trace_page.ts";

/** A file below `outputs/` and where it came from. */
export interface Publication {
  /** `fusion.smoke`. */
  readonly run: string;
  readonly instance: string;
  readonly key: Sha256;
  readonly sha256: Sha256;
}

/** Path below `outputs/` to what was laid there. */
export type Publications = Readonly<Record<string, Publication>>;

/** What stands in `outputs/`, as it was laid there. */
export function readPublications(workspace: Workspace): Publications {
  return readSealed(join(workspace.root, "published.json"), {
    parse: (value) => isRecordOf(value, isPublication) ? value as Publications : undefined,
    onDamage: (path, message) => workspace.setAside(path, message),
  }) ?? {};
}

function isPublication(value: unknown): boolean {
  return isRecord(value) && isText(value["run"]) && isText(value["instance"]) &&
    isDigest(value["key"]) && isDigest(value["sha256"]);
}

/**
 * Brings `outputs/` up to date with a run's results: writes what is missing or differs. What someone
 * changed is set aside in the store, and told. After a whole run it removes what an earlier run of
 * that name published and this one does not, unless someone changed it.
 *
 * @returns What the results publish, written now or there before.
 * @throws {ConfigError} If two instances publish at one path, or one at the trace page's.
 */
export async function publish(
  run: { readonly name: string; readonly whole: boolean; readonly folder: string },
  results: ReadonlyMap<Instance, Result>,
  store: LocalStore,
  listener: Listener,
): Promise<Publications> {
  const before = readPublications(store);
  const files = await collect(run.name, results, store);
  for (const [path, { sha256, instance }] of Object.entries(files)) {
    const target = join(run.folder, path);
    const found = statOf(target) === undefined ? undefined : hashFile(target);
    if (found === sha256) continue;
    const laid = before[path]?.sha256;
    if (found !== undefined && laid !== undefined && found !== laid) {
      store.setAside(target, "it was changed since a run laid it there");
    }
    Deno.mkdirSync(dirname(target), { recursive: true });
    const scratch = `${target}.${Deno.pid}.tmp`;
    Deno.copyFileSync(store.blobPath(sha256), scratch);
    Deno.chmodSync(scratch, 0o644);
    Deno.renameSync(scratch, target);
    listener({ event: "published", path, instance });
  }
  const kept = Object.entries(before).filter(([path, { run: owner, sha256 }]) => {
    if (!run.whole || owner !== run.name || path in files) return true;
    const target = join(run.folder, path);
    if (holds(target, sha256)) Deno.removeSync(target);
    return false;
  });
  writeSealed(join(store.root, "published.json"), { ...Object.fromEntries(kept), ...files });
  return files;
}

async function collect(
  run: string,
  results: ReadonlyMap<Instance, Result>,
  store: LocalStore,
): Promise<Record<string, Publication>> {
  const files: Record<string, Publication> = {};
  for (const [{ name: instance, node, params }, { key, outputs }] of results) {
    for (const [name, output] of Object.entries(outputs)) {
      // Of the declaration as it is now: a path is no part of a key, nor of what was made under it.
      const place = node.stage.outputs[name]?.publish?.(params);
      if (place === undefined) continue;
      const found: [string, Sha256][] = output.kind === "file"
        ? [[place, output.sha256]]
        : Object.entries(await store.manifest(output.sha256) ?? {})
          .map(([path, { sha256 }]) => [`${place}/${path}`, sha256]);
      for (const [path, sha256] of found) {
        if (path === TRACE_PAGE) {
          throw new ConfigError(
            `Cannot publish outputs/${path}: the trace page stands there, and ${instance} writes it ` +
              "too; publish it elsewhere",
          );
        }
        const other = files[path];
        if (other) {
          throw new ConfigError(
            `Cannot publish outputs/${path}: each path must come from one instance, and both ` +
              `${other.instance} and ${instance} write it`,
          );
        }
        files[path] = { run, instance, key, sha256 };
      }
    }
  }
  return files;
}

function holds(path: string, digest: Sha256): boolean {
  return statOf(path) !== undefined && hashFile(path) === digest;
}

/**
 * A run as the store knows it: what the descriptions in formats of others are made from.
 *
 * @module
 */
import { LockstepError, UsageError } from "../errors.ts";
import type { Sha256 } from "../key/hash.ts";
import { type Publication, readPublications } from "../run/publications.ts";
import { latestNames, type LatestRun } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { readNamed, tagNames } from "../store/tags.ts";
import type { Manifest, Received, Trace } from "../store/trace.ts";
import { suggestion } from "../suggestion.ts";

/** A run with all that it made. */
export interface DescribedRun {
  /** `fusion.smoke`. */
  readonly name: string;
  /** The tag by which it was named. */
  readonly tag?: string;
  readonly record: LatestRun;
  /** Sorted by the instances' names, which are the record's: two instances may share a trace. */
  readonly instances: readonly (readonly [instance: string, trace: Trace])[];
  /** What the run's folders hold, by the digest of their lists. */
  readonly folders: ReadonlyMap<Sha256, Manifest>;
  /** Paths below the run's folder in `outputs/`, sorted; none of a tag, whose files may be others. */
  readonly published: readonly (readonly [path: string, file: Publication])[];
}

/**
 * Reads a run.
 *
 * @param named A recorded run's name or a tag's.
 * @throws {UsageError} If there is none of that name.
 * @throws {LockstepError} If part of what it made is not in the store.
 */
export async function describeRun(named: string, store: LocalStore): Promise<DescribedRun> {
  const { record, tag } = readNamed(named, store) ?? {};
  if (!record) {
    const known = [...latestNames(store), ...tagNames(store)];
    throw new UsageError(
      `Cannot describe "${named}": it must be a run recorded in the store or a tag, and is ` +
        `neither${suggestion(named, known)}`,
    );
  }
  const name = `${record.experiment}.${record.profile}`;
  const instances: [string, Trace][] = [];
  const folders = new Map<Sha256, Manifest>();
  for (const [instance, key] of Object.entries(record.keys).sort()) {
    const trace = await store.trace(key);
    if (!trace) throw lost(name, `the trace of ${instance}`);
    instances.push([instance, trace]);
    for (const [digest, manifest] of await foldersOf(trace, store)) folders.set(digest, manifest);
  }
  const published = tag === undefined
    ? Object.entries(readPublications(store)).filter(([, { run }]) => run === name)
      .map(([path, file]) => [path.slice(name.length + 1), file] as const)
    : [];
  const own = { record, instances, folders, published: published.sort(byName) };
  return { name, ...(tag === undefined ? {} : { tag }), ...own };
}

/**
 * What a trace's folders hold.
 *
 * @throws {LockstepError} If a list of files is lost.
 */
export async function foldersOf(trace: Trace, store: LocalStore): Promise<Map<Sha256, Manifest>> {
  const folders = new Map<Sha256, Manifest>();
  for (const { kind, sha256 } of Object.values(trace.outputs)) {
    const manifest = kind === "folder" ? await store.manifest(sha256) : undefined;
    if (manifest) folders.set(sha256, manifest);
    else if (kind !== "folder") continue;
    else if (trace.received) throw leftInCache(trace.instance, trace.received);
    else throw lost(trace.run, `the list of a folder of ${trace.instance}`);
  }
  return folders;
}

function lost(name: string, what: string): LockstepError {
  return new LockstepError(
    `Cannot describe ${name}: all that it made must be in the store, and ${what} is missing or ` +
      'damaged; run "deno task audit --repair"',
  );
}

function leftInCache(instance: string, { from }: Received): LockstepError {
  return new LockstepError(
    `Cannot describe ${instance}: its result came from ${from}, and the artifacts were not fetched; ` +
      'run "deno task pull" with the same experiment and profile first',
  );
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** When an instance ended, ISO 8601, UTC. */
export function endOf({ started, seconds }: Trace): string {
  return new Date(Date.parse(started) + Math.round(seconds * 1000)).toISOString();
}

/** One file that an instance made. */
export interface MadeFile {
  /** `weights`; of a file in a folder `raw/train.csv`. */
  readonly name: string;
  readonly sha256: Sha256;
  readonly bytes: number;
}

/** The files that a trace's outputs consist of, a folder's list left out. */
export function filesOf(trace: Trace, folders: DescribedRun["folders"]): MadeFile[] {
  return Object.entries(trace.outputs).flatMap(([name, { kind, sha256, bytes }]) =>
    kind === "file"
      ? [{ name, sha256, bytes }]
      : Object.entries(folders.get(sha256) ?? {}).map(([path, file]) => ({
        name: `${name}/${path}`,
        ...file,
      }))
  );
}

/** A package that a stage's code holds modules of. */
export interface Package {
  readonly name: string;
  readonly version: string;
  /** Where it was published: `npm` or `jsr`. */
  readonly registry: string;
  /** Digest of its files as they were bundled from: this project's own, not its archive's. */
  readonly files: Sha256;
}

/** The packages that a trace's code was made from. */
export function packagesOf({ sources }: Trace): Package[] {
  return Object.entries(sources).flatMap(([source, files]) => {
    const [, registry, name, version] = /^(npm|jsr):(@?[^@]+)@(.+)$/.exec(source) ?? [];
    return registry && name && version ? [{ registry, name, version, files }] : [];
  });
}

/** A package's URL, as the package-url specification has it. */
export function purl({ registry, name, version }: Package): string {
  const path = name.split("/").map(encodeURIComponent).join("/");
  return `pkg:${registry}/${path}@${encodeURIComponent(version)}`;
}

/** The values of an instance's params, by name. */
export function paramsOf({ ingredients }: Trace): [name: string, value: unknown][] {
  return Object.entries(ingredients).flatMap(([name, value]) =>
    name.startsWith("params.") ? [[name.slice("params.".length), valueIn(value)]] : []
  );
}

/** An ingredient is JSON, or words for what JSON has none for. */
function valueIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/**
 * What of a store nothing keeps, and so can go.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { entriesBelow, lookAt, readText, sortedEntries } from "../files.ts";
import { isSha256, type Sha256 } from "../key/hash.ts";
import { OWNER_FILE } from "../run/executor.ts";
import { interruptedClaims, readClaims } from "../store/claims.ts";
import { currentCode, modulesOf } from "../store/code.ts";
import type { LatestRun } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { isLocked } from "../store/mutex.ts";
import { unseal } from "../store/sealed.ts";
import { isRecord } from "../store/shape.ts";
import { namedBy, type OutputRecord } from "../store/trace.ts";
import { locksFolder } from "../store/workspace.ts";
import type { Item, Kind } from "./kinds.ts";
import { keysReached, NamedBlobs, readTraces, type TraceFile } from "./reached.ts";
import { readRoots, type Roots } from "./roots.ts";

/** What can go, and what keeps the rest. */
export interface Garbage {
  readonly roots: Roots;
  /** In the order in which they are to go: what names something goes before it. */
  readonly items: readonly Item[];
  /** What could go if it were asked for. */
  readonly onRequest: readonly Item[];
  /** Records of older runs, of which results go: as they are to be. */
  readonly shortened: readonly LatestRun[];
  readonly kept: { readonly results: number; readonly bytes: number };
}

/** What is looked at, and how far. */
export interface Request {
  /** The project's folder. */
  readonly root: string;
  readonly store: LocalStore;
  /** How many recorded runs keep what they made. */
  readonly latest: number;
  /** What of `ON_REQUEST` goes too. */
  readonly include: readonly string[];
}

/**
 * Finds what can go. Reads only.
 *
 * @throws {LockstepError} If it is not known what must be kept, since something that says so is damaged.
 */
export async function findGarbage({ root, store, latest, include }: Request): Promise<Garbage> {
  const { claimed, dead } = await readClaims(store);
  const interrupted = include.includes("interrupted") ? [] : dead.flatMap(interruptedClaims);
  const traces = readTraces(store);
  const roots = readRoots({ root, workspace: store, latest, traces });
  const wanted = [roots.runs, roots.tags, roots.locks].flatMap((by) => [...by.values()].flat());
  // What is behind a published file is kept only where its run is.
  const inputs = roots.orders.flatMap((order) =>
    Object.values(order.inputs).flat().map(({ record }) => record)
  );
  const ordered = roots.orders.map(({ key }) => key);
  const counted = [...claimed, ...interrupted, ...ordered];
  const artifacts = [...counted, ...inputs.map(({ sha256 }) => sha256)];
  const keys = new Set([
    ...keysReached([...wanted, ...counted], { artifacts, traces }),
    ...roots.published,
  ]);
  const results = await sortResults(store, traces, { keys, inputs });
  const own = new Set([...keys, ...roots.failed]);
  const onRequest = [
    ...await checkpoints(store, new Set([...claimed, ...ordered])),
    ...asides(store),
    ...dead.map((path) => sized("interrupted", path)),
  ];
  const goes = (item: Item) => include.includes(item.kind);
  const items = [
    ...results.items,
    ...code(store, [...counted, ...roots.orders.flatMap(({ bundle }) => modulesOf(store, bundle))]),
    ...certificates(store, keys),
    ...logs(store, new Set([...own, ...onRequest.map(({ path }) => nameOf(path) as Sha256)])),
    ...await scratch(store),
    ...await incoming(store),
    ...onRequest.filter(goes),
  ];
  const going = new Set(items.map(({ path }) => path));
  return {
    roots,
    items: [...items, ...remembered(store, going)],
    onRequest: onRequest.filter((item) => !goes(item)),
    shortened: roots.older.flatMap((run) => {
      const left = Object.entries(run.keys).filter(([, key]) => keys.has(key));
      return left.length === Object.keys(run.keys).length
        ? []
        : [{ ...run, keys: Object.fromEntries(left) }];
    }),
    kept: results.kept,
  };
}

/** Traces and blobs that nothing keeps, the traces first. `inputs` are what jobs read. */
async function sortResults(
  store: LocalStore,
  traces: readonly TraceFile[],
  { keys, inputs }: {
    readonly keys: ReadonlySet<Sha256>;
    readonly inputs: readonly OutputRecord[];
  },
): Promise<{ readonly items: readonly Item[]; readonly kept: Garbage["kept"] }> {
  const blobs = new NamedBlobs(store);
  const named = (await blobs.of(inputs)).digests;
  const stages = new Map<Sha256, string>();
  const items: Item[] = [];
  let results = 0, bytes = 0;
  // A key's further results before its own: alone they would be nobody's.
  for (const file of [...traces].sort((a, b) => Number(b.isOther) - Number(a.isOther))) {
    const { key, path, trace } = file;
    if (!trace || keys.has(key)) {
      results += file.isOther ? 0 : 1;
      bytes += sizeOf(path);
      await keep(file, { blobs, named });
      continue;
    }
    items.push({ ...sized("trace", path), stage: trace.stage });
    const { digests } = await blobs.of(namedBy(trace));
    for (const { sha256 } of Object.values(trace.outputs)) stages.set(sha256, trace.stage);
    for (const digest of digests) if (!stages.has(digest)) stages.set(digest, trace.stage);
  }
  const leftovers = ["traces", "blobs"].flatMap((folder) =>
    [...entriesBelow(join(store.root, folder))].filter(({ name, isFile }) =>
      isFile && name.endsWith(".tmp")
    )
  );
  items.push(...leftovers.map(({ path }) => sized("blob", path)));
  for (const { subfolder, name, path, isFile } of entriesBelow(join(store.root, "blobs"))) {
    const digest = subfolder + name;
    if (!isFile || !isSha256(digest)) continue;
    if (named.has(digest)) {
      bytes += sizeOf(path);
      continue;
    }
    const stage = stages.get(digest);
    items.push({ ...sized("blob", path), ...(stage === undefined ? {} : { stage }) });
  }
  return { items, kept: { results, bytes } };
}

/** Notes what a trace that is kept names. One that is damaged names nothing, and is the audit's matter. */
async function keep(
  { trace }: TraceFile,
  { blobs, named }: { readonly blobs: NamedBlobs; readonly named: Set<Sha256> },
): Promise<void> {
  if (!trace) return;
  const { digests, isWhole } = await blobs.of(namedBy(trace));
  // What a received trace names need not be here; what of it is, can be fetched again.
  if (!isWhole && !trace.received) {
    throw new LockstepError(
      `Cannot tell what is to be kept: the list of a folder that ${trace.instance} made or ran, ` +
        `of key ${trace.key}, must be intact, and is not; run "deno task audit --repair"`,
    );
  }
  for (const digest of digests) named.add(digest);
}

/** Bundles that no stage has any more. */
function code(store: LocalStore, counted: Iterable<Sha256>): Item[] {
  const kept = currentCode(store).union(new Set(counted));
  const folder = join(store.root, "code");
  return sortedEntries(folder).flatMap(({ name, isFile }) => {
    const digest = name.replace(/\.map$/, "");
    const goes = isFile && isSha256(digest) && !kept.has(digest);
    return goes ? [sized("code", join(folder, name))] : [];
  });
}

/** What executions showed of results that go. */
function certificates(store: LocalStore, keys: ReadonlySet<Sha256>): Item[] {
  return [...entriesBelow(join(store.root, "certificates"))].flatMap(
    ({ subfolder, name, path }) => {
      const key = subfolder + name.replace(/\.json$/, "");
      return isSha256(key) && !keys.has(key) ? [sized("certificates", path)] : [];
    },
  );
}

/** What instances printed whose results are gone, too. */
function logs(store: LocalStore, kept: ReadonlySet<Sha256>): Item[] {
  const folder = join(store.root, "logs");
  return sortedEntries(folder).flatMap(({ name, isFile }) => {
    const [, key = ""] = /^([0-9a-f]{64})\.log(?:\.[12])?$/.exec(name) ?? [];
    const goes = isFile && isSha256(key) && !kept.has(key);
    return goes ? [sized("logs", join(folder, name))] : [];
  });
}

/** What killed processes left. */
async function scratch(store: LocalStore): Promise<Item[]> {
  const items: Item[] = [];
  for (const { name } of sortedEntries(join(store.root, "scratch"))) {
    if (await isLocked(locksFolder(store), name)) continue;
    items.push(sized("scratch", join(store.root, "scratch", name)));
  }
  return items;
}

/** Parts of files that were being fetched from a cache. */
async function incoming(store: LocalStore): Promise<Item[]> {
  const folder = join(store.root, "incoming");
  const items: Item[] = [];
  for (const { name } of sortedEntries(folder)) {
    const lock = `incoming-${name}`;
    if (await isLocked(locksFolder(store), lock)) continue;
    items.push({ ...sized("incoming", join(folder, name)), lock });
  }
  return items;
}

/** States of interrupted instances, but of those that run or are still ending. */
async function checkpoints(store: LocalStore, claimed: ReadonlySet<Sha256>): Promise<Item[]> {
  const folder = join(store.root, "checkpoints");
  const items: Item[] = [];
  for (const { name } of sortedEntries(folder)) {
    const path = join(folder, name);
    if (!isSha256(name) || claimed.has(name) || await isLocked(path, OWNER_FILE)) continue;
    items.push(sized("checkpoints", path));
  }
  return items;
}

function asides(store: LocalStore): Item[] {
  const folder = join(store.root, "aside");
  return sortedEntries(folder).map(({ name }) => sized("aside", join(folder, name)));
}

/** Remembered runs that rest on what is gone, or is to go. */
function remembered(store: LocalStore, going: ReadonlySet<string>): Item[] {
  const folder = join(store.root, "remembered");
  return sortedEntries(folder).flatMap(({ name, isFile }) => {
    const path = join(folder, name);
    if (!isFile || !name.endsWith(".json")) return [];
    const paths = resultsOf(path);
    const holds = paths !== undefined && paths.every((below) => {
      const result = join(store.root, "..", below);
      return !going.has(result) && lookAt(result) !== undefined;
    });
    return holds ? [] : [sized("remembered", path)];
  });
}

/** What a remembered run was concluded from, below `outputs/`; `undefined` if it is damaged. */
function resultsOf(path: string): string[] | undefined {
  try {
    const memory = unseal(readText(path) ?? "", path);
    const results = isRecord(memory) ? memory["results"] : undefined;
    const paths = isRecord(results) ? results["paths"] : undefined;
    return Array.isArray(paths) ? paths.map(String) : undefined;
  } catch (error) {
    if (error instanceof LockstepError) return undefined;
    throw error;
  }
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function sized(kind: Kind, path: string): Item {
  return { kind, path, bytes: sizeOf(path) };
}

/** Bytes of a file, or of all files below a folder. */
function sizeOf(path: string): number {
  const found = lookAt(path);
  if (found?.kind !== "a folder") return found?.stat.size ?? 0;
  return sortedEntries(path).reduce((sum, { name }) => sum + sizeOf(join(path, name)), 0);
}

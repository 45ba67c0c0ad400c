/**
 * The audit: re-hashes every blob and trace of the store and compares locks and `outputs/` with
 * them. It trusts no size, no time and no catalogue, and changes nothing.
 *
 * @module
 */
import { join, relative } from "node:path";
import { statOf } from "../store/catalog.ts";
import { explain } from "../errors.ts";
import { keyOf } from "../key/ingredients.ts";
import { hashFile, isSha256, type Sha256 } from "../key/hash.ts";
import { hashFiles } from "../store/hash_pool.ts";
import { latestNames, type LatestRun, readLatest } from "../store/latest.ts";
import { compareWithLock, formatLock, readLock, toEntry } from "../store/lockfile.ts";
import { type Publications, readPublications } from "../store/publish.ts";
import { SealError, unseal } from "../store/sealed.ts";
import { entriesBelow } from "../store/files.ts";
import type { LocalStore } from "../store/local_store.ts";
import { type Manifest, namedBy, type Trace } from "../store/trace.ts";
import type { Workspace } from "../store/workspace.ts";
import { isSealedPage, TRACE_PAGE } from "./trace_page.ts";

/**
 * One thing that is not as it should be. A `leftover`, a blob that no trace names or a file half
 * written, is of an interrupted or failed run: it belongs to nothing, and does no harm.
 */
export interface Finding {
  readonly problem: "altered" | "missing" | "orphaned" | "leftover";
  readonly what: "blob" | "trace" | "record" | "lock" | "output";
  /** Where it is or should be. */
  readonly path: string;
  /** The instances it belongs to; empty for an orphan. */
  readonly instances: readonly string[];
  /** Of a blob: the keys of the traces that name it. */
  readonly keys?: readonly Sha256[];
  readonly message: string;
  /** The run that makes it again, `fusion.smoke`. */
  readonly run?: string;
}

/** What an audit saw. */
export interface AuditResult {
  readonly findings: readonly Finding[];
  readonly files: number;
  readonly bytes: number;
  /** Locks whose experiment and profile were never run in this store: they could not be checked. */
  readonly unchecked: readonly string[];
}

/** Audits a project's store, locks and outputs. */
export async function auditStore(
  root: string,
  outputs: string,
  store: LocalStore,
): Promise<AuditResult> {
  const findings: Finding[] = [];
  const damagedRecord = (path: string, message: string) =>
    findings.push({ problem: "altered", what: "record", path, instances: [], message });
  const watched: Workspace = { root: store.root, setAside: damagedRecord };
  const runs = new Map<string, LatestRun>();
  for (const name of latestNames(store)) {
    const run = readLatest(name, watched);
    if (run) runs.set(name, run);
  }
  const publications = readPublications(watched);
  const traces = readTraces(store, findings);
  const users = new Map<Sha256, Set<Trace>>();
  const use = (digest: Sha256, trace: Trace) => {
    const set = users.get(digest);
    if (set) set.add(trace);
    else users.set(digest, new Set([trace]));
  };
  for (const trace of traces.values()) {
    for (const { sha256 } of namedBy(trace)) use(sha256, trace);
  }
  const blobs = listBlobs(store);
  const digests = await hashFiles([...blobs.values()]);
  for (const trace of traces.values()) {
    for (const { kind, sha256 } of namedBy(trace)) {
      const blob = blobs.get(sha256);
      if (kind !== "folder" || !blob || digests.get(blob.path) !== sha256) continue;
      const manifest = JSON.parse(Deno.readTextFileSync(blob.path)) as Manifest;
      for (const entry of Object.values(manifest)) use(entry.sha256, trace);
    }
  }
  for (const [name, { path }] of blobs) {
    const found = digests.get(path)!;
    const owners = [...users.get(name as Sha256) ?? []];
    const whose = { instances: names(owners), keys: owners.map(({ key }) => key) };
    if (path.endsWith(".tmp")) {
      const message = "a file half written";
      findings.push({ problem: "leftover", what: "blob", path, ...whose, message });
    } else if (found !== name) {
      const message = found instanceof Error ? found.message : `its content has digest ${found}`;
      const run = owners[0]?.run;
      findings.push({
        problem: "altered",
        what: "blob",
        path,
        ...whose,
        message,
        ...(run ? { run } : {}),
      });
    } else if (owners.length === 0) {
      const message = "no trace names it";
      findings.push({ problem: "leftover", what: "blob", path, ...whose, message });
    }
  }
  for (const [digest, owners] of users) {
    if (blobs.has(digest)) continue;
    findings.push({
      problem: "missing",
      what: "blob",
      path: store.blobPath(digest),
      instances: names([...owners]),
      keys: [...owners].map(({ key }) => key),
      message: "a trace names it",
      run: [...owners][0]!.run,
    });
  }
  for (const [name, run] of runs) {
    for (const [instance, key] of Object.entries(run.keys)) {
      if (traces.has(key)) continue;
      findings.push({
        problem: "missing",
        what: "trace",
        path: store.tracePath(key),
        instances: [instance],
        message: `the latest run of ${name} names it`,
        run: name,
      });
    }
  }
  const unchecked = auditLocks(root, runs, traces, findings);
  const laid = await auditOutputs(outputs, store, publications, findings);
  auditTracePage(outputs, [...runs.keys()], findings);
  const sized = [...blobs.values(), ...laid];
  return {
    findings,
    files: sized.length + traces.size,
    bytes: sized.reduce((sum, file) => sum + file.bytes, 0),
    unchecked,
  };
}

function names(traces: readonly Trace[]): string[] {
  return [...new Set(traces.map((trace) => trace.instance))].sort();
}

interface SizedFile {
  readonly path: string;
  readonly bytes: number;
}

/** Every file below `blobs/`, by the digest its name gives (or its path, if that is none). */
function listBlobs(store: LocalStore): Map<string, SizedFile> {
  const blobs = new Map<string, SizedFile>();
  const folder = join(store.root, "blobs");
  for (const { subfolder: first, name } of entriesBelow(folder)) {
    const path = join(folder, first, name);
    const digest = first + name;
    blobs.set(isSha256(digest) ? digest : path, { path, bytes: Deno.statSync(path).size });
  }
  return blobs;
}

function readTraces(store: LocalStore, findings: Finding[]): Map<Sha256, Trace> {
  const traces = new Map<Sha256, Trace>();
  const folder = join(store.root, "traces");
  for (const { subfolder: first, name } of entriesBelow(folder)) {
    const path = join(folder, first, name);
    const key = first + name.replace(/\.json$/, "");
    const altered = (message: string) => {
      const known = isSha256(key) ? store.catalog.trace(key) : undefined;
      findings.push({
        problem: "altered",
        what: "trace",
        path,
        instances: known ? [known.instance] : [],
        message,
        ...(known ? { run: known.run } : {}),
      });
    };
    if (!isSha256(key) || !name.endsWith(".json")) {
      const message = "its name is not that of a trace";
      const problem = name.endsWith(".tmp") ? "leftover" : "orphaned";
      findings.push({ problem, what: "trace", path, instances: [], message });
      continue;
    }
    try {
      const trace = unseal(Deno.readTextFileSync(path), path) as Trace;
      if (trace.key !== key) altered(`it holds the trace of key ${trace.key}`);
      else if (keyOf(trace.ingredients) !== key) altered("its ingredients do not give its key");
      else traces.set(key, trace);
    } catch (error) {
      altered(error instanceof SealError ? "its content does not match its seal" : explain(error));
    }
  }
  return traces;
}

/**
 * Locks must be as the latest run left or checked them, and say what the store's traces say. A key
 * that the store lacks is none of its concern: a run that agreed with the lock may have other keys.
 */
function auditLocks(
  root: string,
  runs: ReadonlyMap<string, LatestRun>,
  traces: ReadonlyMap<Sha256, Trace>,
  findings: Finding[],
): string[] {
  const unchecked: string[] = [];
  for (const file of lockFiles(root)) {
    const shown = `lock/${file}`;
    const path = join(root, "lock", file);
    const [experiment = "", profile = "", third] = file.split(".");
    const name = `${experiment}.${profile}`;
    const run = runs.get(name);
    if (run?.backend !== (third === "lock" ? "wasm" : third) || run?.lock === undefined) {
      unchecked.push(shown);
      continue;
    }
    const add = (instances: string[], message: string) =>
      findings.push({
        problem: "altered",
        what: "lock",
        path: shown,
        instances,
        message,
        run: name,
      });
    try {
      if (hashFile(path) !== run.lock) add([], "it is not as the latest run left it");
      const lock = readLock(path, shown)!;
      if (formatLock({ experiment, profile }, lock) !== Deno.readTextFileSync(path)) {
        add([], "its text is not as it was written");
      }
      for (const [instance, entry] of lock) {
        const trace = traces.get(entry.key);
        if (!trace) continue;
        const now = new Map([[instance, toEntry(trace)]]);
        const differences = compareWithLock(new Map([[instance, entry]]), now, { whole: true });
        for (const difference of differences) add([instance], difference);
      }
    } catch (error) {
      add([], explain(error));
    }
  }
  return unchecked;
}

function lockFiles(root: string): string[] {
  try {
    return [...Deno.readDirSync(join(root, "lock"))].map((entry) => entry.name)
      .filter((name) => /^\w+(\.\w+){1,2}\.lock$/.test(name)).sort();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** What stands in `outputs/` must be what was laid there, and nothing else. */
async function auditOutputs(
  outputs: string,
  store: LocalStore,
  publications: Publications,
  findings: Finding[],
): Promise<SizedFile[]> {
  const present = [...walk(outputs, store.root)];
  const digests = await hashFiles(present);
  for (const { path } of present) {
    const name = relative(outputs, path);
    if (name === TRACE_PAGE) continue;
    const laid = publications[name];
    if (!laid) {
      const message = "no run laid it there";
      const problem = name.endsWith(".tmp") ? "leftover" : "orphaned";
      findings.push({ problem, what: "output", path, instances: [], message });
    } else if (digests.get(path) !== laid.sha256) {
      const message = "its content is not what was laid there";
      const instances = [laid.instance];
      findings.push({
        problem: "altered",
        what: "output",
        path,
        instances,
        message,
        run: laid.run,
      });
    }
  }
  const there = new Set(present.map(({ path }) => relative(outputs, path)));
  for (const [name, { instance, run }] of Object.entries(publications)) {
    if (there.has(name)) continue;
    const message = "a run laid it there";
    const path = join(outputs, name);
    findings.push({
      problem: "missing",
      what: "output",
      path,
      instances: [instance],
      message,
      run,
    });
  }
  return present;
}

/** The trace page must be there once a run was recorded, and as it was written. */
function auditTracePage(outputs: string, runs: readonly string[], findings: Finding[]): void {
  const path = join(outputs, TRACE_PAGE);
  const there = statOf(path) !== undefined;
  if (there ? isSealedPage(Deno.readTextFileSync(path)) : runs.length === 0) return;
  findings.push({
    problem: there ? "altered" : "missing",
    what: "output",
    path,
    instances: [],
    message: there ? "its content does not match its seal" : "every run leaves one",
    ...(runs[0] === undefined ? {} : { run: runs[0] }),
  });
}

function* walk(folder: string, except: string): Generator<SizedFile> {
  const entries = [...Deno.readDirSync(folder)].sort((a, b) => a.name < b.name ? -1 : 1);
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (path === except || entry.name === ".gitignore") continue;
    if (entry.isDirectory) yield* walk(path, except);
    else yield { path, bytes: Deno.lstatSync(path).size };
  }
}

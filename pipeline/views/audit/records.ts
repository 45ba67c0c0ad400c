/**
 * The part of the audit that reads the records of runs, and compares locks and the code that is kept
 * with what they are of.
 *
 * @module
 */
import { join } from "node:path";
import { explain } from "../../errors.ts";
import { hashFile, isSha256, type Sha256, sha256 } from "../../key/hash.ts";
import { readDocument, valueAt } from "../../config/document.ts";
import { experimentPath } from "../../config/files.ts";
import { lookAt, readBytes, readText, sortedEntries } from "../../files.ts";
import { latestPath, type LatestRun, readLatest } from "../../store/latest.ts";
import { compareWithLock } from "../../store/lock_comparison.ts";
import { formatLock, lockName, lockNames, readLock, toEntry } from "../../store/lockfile.ts";
import type { Ending } from "../../run/ending.ts";
import type { Publications } from "../../run/publications.ts";
import { isRecord } from "../../store/shape.ts";
import { readTag, tagNames } from "../../store/tags.ts";
import { unseal } from "../../store/sealed.ts";
import type { Workspace } from "../../store/workspace.ts";
import { type Audit, type Finding, isHalfWritten } from "./finding.ts";
import type { IntactTraces } from "./traces.ts";

/** Runs by name, `fusion.smoke`. */
export type Runs = ReadonlyMap<string, LatestRun>;

/** A workspace in which a damaged record, perhaps of a run, becomes a finding and stays where it is. */
export function watchedWorkspace({ store, findings }: Audit, run?: string): Workspace {
  return {
    root: store.root,
    setAside(path, message) {
      const whose = run === undefined ? {} : { run };
      findings.push({ problem: "altered", what: "record", path, instances: [], message, ...whose });
    },
  };
}

/** Reads the records of the latest runs. */
export function auditRuns(audit: Audit): Runs {
  const runs = new Map<string, LatestRun>();
  const folder = join(audit.store.root, "runs");
  for (const { name: file } of sortedEntries(folder)) {
    const name = /^(.+)\.json$/.exec(file)?.[1];
    if (name === undefined) {
      const problem = isHalfWritten(file) ? "leftover" : "orphaned";
      const [path, message] = [join(folder, file), "its name is not that of a record"];
      audit.findings.push({ problem, what: "record", path, instances: [], message });
      continue;
    }
    const run = readLatest(name, watchedWorkspace(audit, name));
    if (run) runs.set(name, run);
  }
  return runs;
}

/**
 * Whether the experiments as they are have a run. Where a file can't be read, it may have.
 */
export function hasRun(root: string, run: string): boolean {
  const [, experiment = "", profile = ""] = /^([^.]+)\.(.+)$/.exec(run) ?? [];
  const name = experimentPath(experiment);
  if (!lookAt(join(root, name))) return false;
  try {
    const { value } = readDocument(join(root, name), name);
    return valueAt(value, ["profiles", profile]) !== undefined;
  } catch {
    return true;
  }
}

/** Tags must be intact, and what they keep must be there. */
export function auditTags(audit: Audit, { byKey }: IntactTraces): void {
  const { store, findings } = audit;
  const watched = watchedWorkspace(audit);
  for (const tag of tagNames(store)) {
    const kept = readTag(tag, watched);
    if (!kept) continue;
    const run = `${kept.experiment}.${kept.profile}`;
    for (const [instance, key] of Object.entries(kept.keys)) {
      if (byKey.has(key)) continue;
      const message = `the tag ${tag} names it; if no run makes it again, remove the tag`;
      const finding = { path: store.tracePath(key), instances: [instance], message, run };
      findings.push({ problem: "missing", what: "trace", ...finding });
    }
  }
}

/** What records and traces must have to do with each other. */
export function auditReferences(
  audit: Audit,
  { runs, traces, publications }: {
    readonly runs: Runs;
    readonly traces: IntactTraces;
    readonly publications: Publications;
  },
): void {
  const { root, store, findings } = audit;
  for (const [name, run] of runs) {
    for (const [instance, key] of Object.entries(run.keys)) {
      if (traces.byKey.has(key)) continue;
      const [path, message] = [store.tracePath(key), `the latest run of ${name} names it`];
      const finding = { path, instances: [instance], message, run: name };
      findings.push({ problem: "missing", what: "trace", ...finding });
    }
  }
  const publishing = new Set(Object.values(publications).map(({ run }) => run));
  // What was received may have been made for runs that were never here.
  const tracing = [...traces.byKey.values()].flatMap(({ run, received }) => received ? [] : run);
  const damaged = new Set(findings.map(({ path }) => path));
  for (const name of new Set([...publishing, ...tracing])) {
    const path = latestPath(name, store);
    if (runs.has(name) || damaged.has(path)) continue;
    // Traces outlive the experiments they were made for, and then so may the lack of a record.
    if (!publishing.has(name) && !hasRun(root, name)) continue;
    const message = "what it left names the run";
    findings.push({ problem: "missing", what: "record", path, instances: [], message, run: name });
  }
}

/**
 * Locks must be as the latest run left or checked them, or one that did not end wrote them, and say what the store's traces say. A key
 * that the store lacks is none of its concern: a run that agreed with the lock may have other keys.
 * Returns the locks that could not be checked.
 */
export function auditLocks(
  audit: Audit,
  { runs, traces, endings }: {
    readonly runs: Runs;
    readonly traces: IntactTraces;
    readonly endings: ReadonlyMap<string, Ending>;
  },
): string[] {
  const checked = new Set<string>();
  for (const [name, run] of runs) {
    if (run.lock === undefined) continue;
    const shown = lockName(run);
    checked.add(shown);
    const report = (problem: Finding["problem"], instances: string[], message: string) =>
      audit.findings.push({ problem, what: "lock", path: shown, instances, message, run: name });
    if (!lookAt(join(audit.root, shown))) report("missing", [], "the latest run left one");
    else {
      try {
        const digests = [run.lock, endings.get(name)?.lock];
        for (const [instances, message] of lockProblems(audit, run, { digests, traces })) {
          report("altered", instances, message);
        }
      } catch (error) {
        report("altered", [], explain(error));
      }
    }
  }
  return lockNames(audit.root).filter((name) => !checked.has(name));
}

function* lockProblems(
  { root }: Audit,
  run: LatestRun,
  { digests, traces: { byKey } }: {
    readonly digests: readonly (Sha256 | undefined)[];
    readonly traces: IntactTraces;
  },
): Generator<[instances: string[], message: string]> {
  const shown = lockName(run);
  const path = join(root, shown);
  const lock = readLock(path, shown)!;
  if (!digests.includes(hashFile(path))) yield [[], "it is not as the latest run left it"];
  if (formatLock(run, lock) !== readText(path)) yield [[], "its text is not as it was written"];
  for (const [instance, entry] of lock) {
    const trace = entry.key === undefined ? undefined : byKey.get(entry.key);
    if (!trace) continue;
    const now = new Map([[instance, toEntry(trace)]]);
    const differences = compareWithLock(new Map([[instance, entry]]), now, { whole: true });
    for (const { message } of differences) yield [[instance], message];
  }
}

/** The code that is kept must be what its names say. */
export function auditCode({ store, findings }: Audit): void {
  const folder = join(store.root, "code");
  for (const { name } of sortedEntries(folder)) {
    const path = join(folder, name);
    const report = (problem: Finding["problem"], message: string) =>
      findings.push({ problem, what: "code", path, instances: [], message });
    if (isHalfWritten(name)) report("leftover", "a file half written");
    else if (!/^[0-9a-f]{64}(\.map)?$|^[a-z][a-z0-9_]*\.json$/.test(name)) {
      report("orphaned", "its name is not that of code");
    } else {
      const message = codeProblem(path, name);
      if (message !== undefined) report("altered", message);
    }
  }
}

/** Why what is kept under a name in the folder of code is not what it should be. */
function codeProblem(path: string, name: string): string | undefined {
  try {
    if (isSha256(name)) {
      return sha256(readBytes(path) ?? "") === name ? undefined : "its content is other code";
    }
    const [owner, kind] = name.split(".");
    const field = kind === "map" ? "code" : "stage";
    const sealed = unseal(readText(path) ?? "", path);
    return isRecord(sealed) && sealed[field] === owner ? undefined : `it is of another ${field}`;
  } catch (error) {
    return explain(error);
  }
}

/**
 * `audit --against COMMIT` and `--key KEY`: what locks, their certificates and published files are, against
 * those of a git commit, and locks and certificates against their signatures.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { basename, join, relative, resolve } from "node:path";
import { LockstepError, UsageError } from "../errors.ts";
import { lookAt, readBytes, sortedEntries } from "../files.ts";
import type { Sha256 } from "../key/hash.ts";
import { readPublicKey } from "../provenance/keys.ts";
import { signatureProblem } from "../provenance/signatures.ts";
import { isCertificatesName } from "../store/certificates.ts";
import { latestNames, readLatest } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { compareWithLock } from "../store/lock_comparison.ts";
import {
  isExperimentLock,
  type Lock,
  lockName,
  lockOf,
  parseLock,
  readLock,
} from "../store/lockfile.ts";
import type { Trace } from "../store/trace.ts";
import type { Finding } from "../views/audit.ts";
import { git } from "./git.ts";

/** What is compared with a commit. */
export interface Compared {
  /** The project's folder. */
  readonly root: string;
  readonly outputs: string;
  readonly store: LocalStore;
}

/** What a comparison found. */
export interface Comparison {
  readonly findings: readonly Finding[];
  /** What was compared, in words. */
  readonly note: string;
}

/**
 * Holds what is in `lock/` and published files against those in a commit, and the results of the latest runs
 * against the commit's locks.
 *
 * @throws {UsageError} If there is no such commit, or no lock in it.
 */
export async function auditAgainst(revision: string, compared: Compared): Promise<Comparison> {
  const { root, outputs } = compared;
  const found = await git(root, [
    ...["rev-parse", "--verify", "--quiet", "--end-of-options"],
    `${revision}^{commit}`,
  ]);
  const commit = found?.trim();
  const below = relative(root, outputs);
  const paths = below.startsWith("..") ? ["lock"] : ["lock", below];
  const tree = commit === undefined ? undefined : await treeOf(root, commit, paths);
  const locks = [...tree?.keys() ?? []].filter(isExperimentLock);
  if (commit === undefined || tree === undefined || locks.length === 0) {
    throw new UsageError(
      `Cannot audit against "${revision}": it must be a git revision with locks in lock/, and ` +
        (commit === undefined ? "git knows none of that name" : "none is in it"),
    );
  }
  const recorded = recordedRuns(compared.store);
  const findings: Finding[] = [];
  let results = 0;
  for (const name of locks) {
    const label = `${name} at ${commit.slice(0, 10)}`;
    const lock = parseLock(
      await git(root, ["cat-file", "blob", `${commit}:./${name}`]) ?? "",
      label,
    );
    findings.push(...compareLocks(lock, name, { root, label, id: tree.get(name)! }));
    const keys = recorded.get(name);
    if (!keys) continue;
    results += keys.size;
    findings.push(...await compareResults(lock, { name, label, keys, store: compared.store }));
  }
  const files = [...tree].filter(([name]) => !isExperimentLock(name));
  findings.push(...files.flatMap(([name, id]) => compareFile(name, id, root)));
  const additional = heldNames(root).filter((name) => !tree.has(name));
  findings.push(
    ...additional.map((name) =>
      finding("orphaned", name, `${commit.slice(0, 10)} has no such file`)
    ),
  );
  const note =
    `compared with ${commit.slice(0, 10)}: ${locks.length} locks, ${results} results of ` +
    `the latest runs, ${files.length} other files; locks of runs that are not in this store were ` +
    "compared as files alone";
  return { findings, note };
}

/** What in a project's `lock/` a run is held to: locks of all kinds, and certificates. */
function heldNames(root: string): string[] {
  return sortedEntries(join(root, "lock")).map(({ name }) => `lock/${name}`).filter((name) =>
    /[.](lock|certificates)$/.test(name)
  );
}

/** Path to the id of its content, for the files of a commit below some folders of the project. */
async function treeOf(
  root: string,
  commit: string,
  paths: readonly string[],
): Promise<Map<string, string>> {
  const listed = await git(root, ["ls-tree", "-r", "-z", commit, "--", ...paths]) ?? "";
  return new Map(
    listed.split("\0").flatMap((line) => {
      const [, id, path] = /^\d+ blob ([0-9a-f]+)\t(.+)$/s.exec(line) ?? [];
      return id && path ? [[path, id] as const] : [];
    }),
  );
}

/** The keys of the latest runs, by the name of their lock. */
function recordedRuns(store: LocalStore): Map<string, ReadonlyMap<string, Sha256>> {
  return new Map(
    latestNames(store).flatMap((name) => {
      const run = readLatest(name, store);
      return run ? [[lockName(run), new Map(Object.entries(run.keys))] as const] : [];
    }),
  );
}

/** The lock that is there, as a file, against the commit's; what of its lines differs, if any does. */
function compareLocks(
  lock: Lock,
  name: string,
  { root, label, id }: { readonly root: string; readonly label: string; readonly id: string },
): Finding[] {
  const problem = fileProblem(join(root, name), id);
  if (problem === undefined) return [];
  if (problem === "missing") return [finding("missing", name, `${label} is there`)];
  const lines = linesOf(root, name);
  if (typeof lines === "string") return [finding("altered", name, lines)];
  const found = compareWithLock(lock, lines, { whole: true, made: true });
  if (found.length === 0) {
    return [
      finding("altered", name, `against ${label}: its header or the form of its lines differs`),
    ];
  }
  return found.map(({ instance, message }) =>
    finding("altered", name, `against ${label}: ${message}`, [instance])
  );
}

/** The lock in a file, or why there is none. */
function linesOf(root: string, name: string): Lock | string {
  try {
    return readLock(join(root, name), name) ?? new Map();
  } catch (error) {
    if (error instanceof LockstepError) return error.message;
    throw error;
  }
}

/** What the latest run of a lock's name made, against the commit's lock. */
async function compareResults(
  lock: Lock,
  { name, label, keys, store }: {
    readonly name: string;
    readonly label: string;
    readonly keys: ReadonlyMap<string, Sha256>;
    readonly store: LocalStore;
  },
): Promise<Finding[]> {
  const traces = new Map<string, Trace>();
  for (const [instance, key] of keys) {
    const trace = await store.trace(key);
    if (trace) traces.set(instance, trace);
  }
  return compareWithLock(lock, lockOf(traces), { whole: true, made: true }).map((
    { instance, message },
  ) => finding("altered", name, `the latest run against ${label}: ${message}`, [instance]));
}

/** A file against git's id of it. */
function compareFile(name: string, id: string, root: string): Finding[] {
  const what = name.startsWith("lock/") ? "lock" : "output";
  const problem = fileProblem(join(root, name), id);
  if (problem === undefined) return [];
  const message = problem === "missing" ? "the commit has it" : "it is not as in the commit";
  return [finding(problem, name, message, [], what)];
}

/** Whether a file is what git's id of it says: a digest of its size and bytes. */
function fileProblem(path: string, id: string): "missing" | "altered" | undefined {
  const there = lookAt(path);
  if (there?.kind !== "a file") return there ? "altered" : "missing";
  const bytes = readBytes(path)!;
  const hash = createHash(id.length === 64 ? "sha256" : "sha1");
  const found = hash.update(`blob ${bytes.length}\0`).update(bytes).digest("hex");
  return found === id ? undefined : "altered";
}

function finding(
  problem: Finding["problem"],
  path: string,
  message: string,
  instances: readonly string[] = [],
  what: Finding["what"] = "lock",
): Finding {
  return { problem, what, path, instances, message };
}

/** Experiments' locks and the certificates beside them that a key did not sign as they are. */
export async function auditSignatures(root: string, keyPath: string): Promise<Comparison> {
  const key = await readPublicKey(resolve(keyPath));
  const names = heldNames(root).filter((name) =>
    isExperimentLock(name) || isCertificatesName(name)
  );
  const findings: Finding[] = [];
  for (const name of names) {
    const problem = await signatureProblem(join(root, name), key);
    if (problem !== undefined) findings.push(finding("altered", name, problem));
  }
  const note =
    `${
      names.length - findings.length
    } of ${names.length} locks and certificates are signed by key ` +
    `${key.id.slice(0, 12)} (${basename(keyPath)})`;
  return { findings, note };
}

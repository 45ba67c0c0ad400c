/**
 * What the records of an audit file must agree on, all the way from its index to its bytes: digests,
 * the lock, traces, keys from their ingredients, inputs and what made them, artifacts and their sizes.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import { sha256 } from "../key/hash.ts";
import { codeOf, disagreements, type Manifest, type Trace } from "../store/trace.ts";
import { parseTrace } from "../store/traces.ts";
import type { AuditFile } from "./audit_file.ts";
import { checkBlobs, checkFolders, readManifests } from "./blobs.ts";
import { checkCertificates } from "./certificates.ts";
import type { Report } from "./finding.ts";
import { checkInputs } from "./inputs.ts";
import { checkLock } from "./lock_lines.ts";
import { FormError, readRecord } from "./record.ts";
import type { Material } from "./replay.ts";
import type { Choices } from "./uses.ts";

/** The records of an audit file, as far as they could be read. */
export interface Records extends Material {
  /** By instance. */
  readonly traces: ReadonlyMap<string, Trace>;
  /** Digest of each folder to what it holds. */
  readonly manifests: ReadonlyMap<string, Manifest>;
}

/**
 * Reads and checks all records.
 *
 * @throws {FormError} If one of them is written as none is written here.
 * @param choices Of which instances the file must hold code, inputs and outputs; by default as in every run's.
 */
export function checkRecords(file: AuditFile, report: Report, choices: Choices = {}): Records {
  const intact = checkFiles(file, report);
  const traces = readTraces(file, report);
  checkLock(file, traces, report);
  const folders = new Set<string>();
  for (const trace of traces.values()) {
    const { packages } = codeOf(trace);
    if (packages !== undefined) folders.add(packages);
    for (const { kind, sha256 } of Object.values(trace.outputs)) {
      if (kind === "folder") folders.add(sha256);
    }
  }
  const blob = (digest: string) => {
    if (!intact.has(`blobs/${digest}`)) return undefined;
    const content = file.files.get(`blobs/${digest}`)!;
    if (sha256(content) === digest) return content;
    throw new LockstepError(`Cannot read blobs/${digest}: it changed while the file was read`);
  };
  const manifests = readManifests(folders, blob, report);
  checkBlobs(file, { traces, manifests, intact, report, choices });
  checkFolders(traces, manifests, report);
  checkInputs(traces, report);
  checkCertificates(file, traces, report);
  return { traces, manifests, blob, isFolder: (digest) => folders.has(digest) };
}

/**
 * Every file must be listed and have the digest that is listed, in the order of the list. Returns those
 * that are what their name says.
 */
function checkFiles({ index, files }: AuditFile, report: Report): Set<string> {
  const intact = new Set<string>();
  const listed = Object.keys(index.files), there = [...files.keys()];
  for (const name of listed.filter((name) => !files.has(name))) {
    report({ what: "file", where: name, expected: "there, as the index says", found: "nothing" });
  }
  for (const name of there.filter((name) => !Object.hasOwn(index.files, name))) {
    report({ what: "file", where: name, expected: "in the index", found: "no such entry" });
  }
  const both = listed.filter((name) => files.has(name));
  const wrong = there.filter((name) => Object.hasOwn(index.files, name))
    .findIndex((name, at) => name !== both[at]);
  if (wrong >= 0) {
    const found = there.filter((name) => Object.hasOwn(index.files, name))[wrong]!;
    report({ what: "file", where: `file ${wrong + 1}`, expected: both[wrong]!, found });
  }
  for (const name of files.keys()) {
    const digest = files.digest(name)!;
    const listed = Object.hasOwn(index.files, name) ? index.files[name] : undefined;
    const named = /^blobs\/(.*)$/.exec(name)?.[1];
    if (digest === (named ?? digest)) intact.add(name);
    // Of a blob it is said below whose it is.
    else if (named === listed) continue;
    if (listed === undefined || listed === digest) continue;
    report({ what: "file", where: name, expected: listed, found: digest });
  }
  return intact;
}

/** Every instance must have a trace, whose key follows from its ingredients. */
function readTraces({ index, files }: AuditFile, report: Report): Map<string, Trace> {
  const traces = new Map<string, Trace>();
  const used = new Set<string>();
  for (const [instance, key] of Object.entries(index.instances)) {
    const path = `traces/${key}.json`;
    used.add(path);
    const content = files.get(path);
    if (content === undefined) {
      report({
        what: "trace",
        where: path,
        expected: `the trace of ${instance}`,
        found: "nothing",
      });
      continue;
    }
    try {
      const trace = readRecord(content, path, (text) => parseTrace(text, { key, path }))!;
      traces.set(instance, trace);
      checkTrace(trace, { instance, report });
    } catch (error) {
      if (!(error instanceof LockstepError) || error instanceof FormError) throw error;
      report({ what: "trace", where: path, expected: "an intact trace", found: error.message });
    }
  }
  for (const path of files.keys()) {
    if (!path.startsWith("traces/") || used.has(path)) continue;
    report({
      what: "trace",
      where: path,
      expected: "an instance's of the index",
      found: "no such key",
    });
  }
  return traces;
}

/** All that a trace has, and an output of one. */
const FIELDS = new Set([
  ...["key", "instance", "stage", "run", "ingredients", "sources", "outputs", "metrics"],
  ...["started", "seconds", "machine"],
]);
const OUTPUT_FIELDS = new Set(["sha256", "bytes", "kind", "exactness"]);

function checkTrace(
  trace: Trace,
  { instance, report }: { readonly instance: string; readonly report: Report },
): void {
  const unknown = [
    ...Object.keys(trace).filter((name) => !FIELDS.has(name)),
    ...Object.values(trace.outputs).flatMap(Object.keys).filter((name) => !OUTPUT_FIELDS.has(name)),
  ];
  for (const name of unknown) {
    report({
      what: "trace",
      where: `${instance}, ${name}`,
      expected: "no such field",
      found: "one",
    });
  }
  for (const { what, where, ...rest } of disagreements(trace)) {
    report({ what: what === "key" ? "key" : "trace", where: `${instance}, ${where}`, ...rest });
  }
}

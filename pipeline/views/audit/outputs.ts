/**
 * The part of the audit that compares `outputs/` with what was published there.
 *
 * @module
 */
import { join, relative } from "node:path";
import { type Found, lookAt, sortedEntries } from "../../files.ts";
import { hashFiles } from "../../store/hash_pool.ts";
import { TRACE_FILES } from "../../store/paths.ts";
import type { Ending } from "../../run/ending.ts";
import { type Publications, publicationsPath } from "../../run/publications.ts";
import { settled } from "../../run/publish.ts";
import { OutputsFolder } from "../../store/outputs_folder.ts";
import { holdsPage } from "../trace_page.ts";
import type { Manifests } from "./blobs.ts";
import { type Audit, type Finding, type SizedFile } from "./finding.ts";
import type { IntactTraces } from "./traces.ts";

/**
 * What is in `outputs/`: as it was recorded, or as a run that was killed left it, which is a leftover: run
 * again, it writes the rest.
 */
export function auditEndings(
  audit: Audit,
  recorded: Publications,
  endings: ReadonlyMap<string, Ending>,
): Publications {
  const folder = new OutputsFolder(audit.outputs, audit.store);
  const found = settled(recorded, endings.values(), folder);
  for (const [run, { files, gone }] of endings) {
    for (const name of [...Object.keys(files), ...gone]) {
      const [before, now] = [recorded[name], found[name]];
      if (before?.sha256 === now?.sha256 && before?.key === now?.key) continue;
      const path = join(audit.outputs, name);
      const message = now === undefined
        ? "a run that did not end removed it"
        : "a run that did not end wrote it";
      const { instance } = (now ?? before)!;
      report(audit, { problem: "leftover", path, message, instance, run });
    }
  }
  return found;
}

/**
 * What is in `outputs/` must be what was written there, and nothing else. Returns what is.
 *
 * @param runs The recorded runs: each left a record of what it wrote.
 */
export async function auditOutputs(
  audit: Audit,
  publications: Publications,
  runs: readonly string[],
): Promise<readonly SizedFile[]> {
  const present = [...walk(audit.outputs, audit.store.root)];
  const digests = await hashFiles(present.flatMap((file) => {
    const published = publications[relative(audit.outputs, file.path)];
    return file.kind === "a file" && published?.bytes === file.bytes ? [file] : [];
  }));
  const there = new Set<string>(), unknown: Finding[] = [];
  for (const { path, kind } of present) {
    const name = relative(audit.outputs, path);
    there.add(name);
    if (isTraceFile(name)) continue;
    const published = publications[name];
    if (!published) {
      const half = /^(.*)\.\d+\.tmp$/.exec(name)?.[1];
      const isLeftover = half !== undefined && kind === "a file" &&
        (isTraceFile(half) || publications[half] !== undefined);
      (isLeftover ? audit.findings : unknown).push({
        ...{ problem: isLeftover ? "leftover" : "orphaned", what: "output", path, instances: [] },
        message: isLeftover ? "a file half written" : "no run wrote it",
      });
      continue;
    }
    if (digests.get(path) === published.sha256) continue;
    const message = kind === "a file"
      ? "its content is not what was written there"
      : `it must be a file, found ${kind}`;
    report(audit, { problem: "altered", path, message, ...published });
  }
  audit.findings.push(...lostRecord(audit, runs, unknown) ?? unknown);
  for (const [name, published] of Object.entries(publications)) {
    if (there.has(name)) continue;
    const [path, message] = [join(audit.outputs, name), "a run wrote it"];
    report(audit, { problem: "missing", path, message, ...published });
  }
  return present;
}

/** Where nothing says who wrote the files, since the record that says it is gone: that, once for all. */
function lostRecord(
  { store }: Audit,
  runs: readonly string[],
  unknown: readonly Finding[],
): readonly Finding[] | undefined {
  const path = publicationsPath(store);
  if (unknown.length === 0 || runs.length === 0 || lookAt(path) !== undefined) return undefined;
  const files = unknown.length === 1 ? "a file" : `${unknown.length} files`;
  const message = `it says which run wrote what is in outputs/, where ${files} can't be checked`;
  return [{ problem: "missing", what: "record", path, instances: [], message }];
}

/** What is published must be what a trace of the key made. */
export function auditPublications(
  audit: Audit,
  publications: Publications,
  { byKey, manifests }: { readonly byKey: IntactTraces["byKey"]; readonly manifests: Manifests },
): void {
  for (const [name, published] of Object.entries(publications)) {
    const outputs = Object.values(byKey.get(published.key)?.outputs ?? {});
    const isMade = outputs.some(({ kind, sha256 }) =>
      kind === "file"
        ? sha256 === published.sha256
        // What a lost manifest held can't be known; that it is lost is a finding of its own.
        : Object.values(manifests.get(sha256) ?? { lost: published })
          .some((entry) => entry.sha256 === published.sha256)
    );
    if (isMade) continue;
    const message = `no trace says that ${published.key} made it`;
    report(audit, { problem: "orphaned", path: join(audit.outputs, name), message, ...published });
  }
}

function report(
  { findings }: Audit,
  { problem, path, message, instance, run }: {
    readonly problem: Finding["problem"];
    readonly path: string;
    readonly message: string;
    readonly instance: string;
    readonly run: string;
  },
): void {
  findings.push({ problem, what: "output", path, instances: [instance], message, run });
}

/** The trace page and its facts must be there once a run was recorded, and as they were written. */
export function auditTracePage({ outputs, findings }: Audit, runs: readonly string[]): void {
  for (const name of TRACE_FILES) {
    const path = join(outputs, name);
    const there = lookAt(path) !== undefined;
    if (there ? holdsPage(path) : runs.length === 0) continue;
    findings.push({
      problem: there ? "altered" : "missing",
      what: "output",
      path,
      instances: [],
      message: there ? "its content does not match its seal" : "every run leaves one",
      ...(runs[0] === undefined ? {} : { run: runs[0] }),
    });
  }
}

function isTraceFile(name: string): boolean {
  return TRACE_FILES.some((each) => each === name);
}

function* walk(
  folder: string,
  except: string,
): Generator<SizedFile & { readonly kind: Found["kind"] }> {
  for (const { name, isDirectory } of sortedEntries(folder)) {
    const path = join(folder, name);
    if (path === except || name === ".gitignore") continue;
    if (isDirectory) yield* walk(path, except);
    else {
      const found = lookAt(path);
      if (found) yield { path, bytes: found.stat.size, kind: found.kind };
    }
  }
}

/**
 * The trace page, `outputs/trace/index.html`: how everything that the latest runs of a store hold was
 * made, so that a reader gets from a number to the bytes it came from by following links. It needs no
 * network; only its search needs the script in it. Beside it `runs.js` has the facts of those runs that
 * no artifact may hold, for the pages that they published.
 *
 * Fragments that other pages may point at: the digest of an artifact or of a file in a folder, a key,
 * and `fusion.smoke/train/short/add/0` for an instance of a run.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { allTraces, ancestry, makersOf, manifestsOf } from "./ancestry.ts";
import { lookAt, readText } from "../files.ts";
import { sha256 } from "../key/hash.ts";
import type { Certificate } from "../store/certificate.ts";
import { readCertificate } from "../store/certificates.ts";
import { latestNames, readLatest } from "../store/latest.ts";
import { openLockFile } from "../store/mutex.ts";
import { OutputsFolder } from "../store/outputs_folder.ts";
import { RUN_FACTS, TRACE_FILES, TRACE_PAGE } from "../store/paths.ts";
import { readPublications } from "../run/publications.ts";
import { writeAtomically } from "../store/sealed.ts";
import type { ArtifactStore } from "../store/artifact_store.ts";
import { inputsOf, type Trace } from "../store/trace.ts";
import type { Workspace } from "../store/workspace.ts";
import { factsScript } from "./trace_page/facts.ts";
import { tracePage } from "./trace_page/page.ts";
import { publishedBytes, type Shown } from "./trace_page/shown.ts";

/**
 * Writes the page and the facts, if something changed or one is missing. Two runs that end at once take
 * turns, so that the second one's page knows of both.
 */
export async function keepTracePage(
  outputs: string,
  places: Places,
  { changed }: { readonly changed: boolean },
): Promise<void> {
  if (!changed && TRACE_FILES.every((path) => lookAt(join(outputs, path)))) return;
  const folder = new OutputsFolder(outputs, places.workspace);
  folder.checkInside(TRACE_FILES);
  using turn = openLockFile(join(places.workspace.root, "trace_page.lock"));
  turn.lockSync(true);
  const shown = await collectShown(places);
  const texts = { [TRACE_PAGE]: tracePage(shown), [RUN_FACTS]: factsScript(shown) };
  for (const name of TRACE_FILES) {
    const path = join(outputs, name);
    folder.makeWay(name, { isOwn: () => holdsPage(path) });
    writeAtomically(path, sealPage(texts[name], name));
  }
}

/** Where traces and the records of runs are read from. */
export interface Places {
  readonly store: ArtifactStore;
  readonly workspace: Workspace;
}

/** Reads what the latest runs hold and everything it came from. */
export async function collectShown({ store, workspace }: Places): Promise<Shown> {
  const runs = latestNames(workspace).flatMap((name) => {
    const run = readLatest(name, workspace);
    return run ? [{ name, run }] : [];
  });
  const published = new Map<string, string[]>();
  for (const [path, { key, sha256 }] of Object.entries(readPublications(workspace))) {
    const bytes = publishedBytes(key, sha256);
    published.set(bytes, [...published.get(bytes) ?? [], path]);
  }
  const traces = new Map<string, Trace>();
  for (const { run } of runs) {
    for (const key of Object.values(run.keys)) {
      const trace = traces.has(key) ? undefined : await store.trace(key);
      if (trace) traces.set(key, trace);
    }
  }
  const found = await manifestsOf(traces.values(), store);
  const makers = makersOf(traces.values(), found);
  const isKnown = (trace: Trace) => inputsOf(trace).every(([, digest]) => makers.has(digest));
  if ([...traces.values()].every(isKnown)) {
    const certificates = certificatesOf(traces, workspace);
    return { runs, traces, manifests: found, makers, certificates, published };
  }
  // A partial run keeps results whose inputs no latest run made: then every trace is asked.
  const all = await allTraces(store);
  const manifests = await manifestsOf(all, store);
  for (const trace of ancestry(traces.values(), makersOf(all, manifests))) {
    traces.set(trace.key, trace);
  }
  const certificates = certificatesOf(traces, workspace);
  const own = makersOf(traces.values(), manifests);
  return { runs, traces, manifests, makers: own, certificates, published };
}

/** The certificates of the results that traces hold. */
function certificatesOf(
  traces: ReadonlyMap<string, Trace>,
  workspace: Workspace,
): Map<string, Certificate> {
  return new Map([...traces].flatMap(([key, trace]) => {
    const certificate = readCertificate(workspace, trace);
    return certificate ? [[key, certificate] as const] : [];
  }));
}

/** A page or a script with its own digest as its last line, so that an altered byte is noticed. */
export function sealPage(text: string, name = TRACE_PAGE as string): string {
  const [start, end] = marksOf(name);
  return `${text}${start}${sha256(text)}${end}`;
}

/** What is around the digest: a comment. */
function marksOf(name: string): [start: string, end: string] {
  return name.endsWith(".js") ? ["// sha256 ", "\n"] : ["<!-- sha256 ", " -->\n"];
}

/** Whether a page or a script is at a path, every byte as it was written. */
export function holdsPage(path: string): boolean {
  try {
    return isSealedPage(readText(path) ?? "", path);
  } catch (error) {
    if (error instanceof LockstepError) return false;
    throw error;
  }
}

/** Whether every byte of a text is as {@linkcode sealPage} left it. */
export function isSealedPage(text: string, name = TRACE_PAGE as string): boolean {
  const end = text.lastIndexOf(marksOf(name)[0]);
  return end >= 0 && sealPage(text.slice(0, end), name) === text;
}

/**
 * Writes copies of published outputs to `outputs/EXPERIMENT.PROFILE/`, for people, and records which
 * run wrote which. A file there is a copy, never a link: whoever edits it can't damage the store.
 *
 * @module
 */
import type { ArtifactStore } from "../store/artifact_store.ts";
import { ConfigError, LockstepError } from "../errors.ts";
import type { Listener } from "../event.ts";
import type { Graph, Instance } from "../plan/graph.ts";
import type { Sha256 } from "../key/hash.ts";
import { type Content, OutputsFolder } from "../store/outputs_folder.ts";
import { parentsOf, publishPathProblem } from "../store/paths.ts";
import type { Manifest, OutputRecord, Trace } from "../store/trace.ts";
import type { Workspace } from "../store/workspace.ts";
import { dropEnding, type Ending, noteEnding, readEnding, readEndings } from "./ending.ts";
import {
  type Publication,
  type Publications,
  readPublications,
  writePublications,
} from "./publications.ts";

/** What instances left: their keys and outputs. */
export type Results = ReadonlyMap<
  Instance,
  { readonly key: Sha256; readonly outputs: Trace["outputs"] }
>;

/** The run whose results are published. */
export interface PublishingRun {
  /** `fusion.smoke`. */
  readonly name: string;
  /** Whether what was published under its name before, and is not now, is removed. */
  readonly replaces: boolean;
  /** Where `outputs/` is. */
  readonly folder: string;
}

/** Where what is published comes from, and where it is recorded. */
export interface PublishingPlaces {
  readonly store: ArtifactStore;
  readonly workspace: Workspace;
}

/**
 * Checks where a graph's outputs are to be published, before anything runs.
 *
 * @throws {ConfigError} At a path that may not be used.
 */
export function checkPublishPaths(graph: Graph, run: string): void {
  for (const { name, node, params } of graph) {
    for (const { publish } of Object.values(node.stage.outputs)) {
      if (publish !== undefined) checkPath(`${run}/${publish(params)}`, name);
    }
  }
}

function checkPath(path: string, instance: string): void {
  const problem = publishPathProblem(path);
  if (problem === undefined) return;
  throw new ConfigError(
    `Cannot publish ${
      JSON.stringify(`outputs/${path}`)
    }, which ${instance} writes: the path must ` +
      problem,
  );
}

/**
 * What results publish, if `outputs/` and its record are as {@linkcode publish} would leave them;
 * else `undefined`.
 */
export async function publishedAlready(
  run: PublishingRun,
  results: Results,
  { store, workspace }: PublishingPlaces,
): Promise<Publications | undefined> {
  if (readEnding(run.name, workspace) !== undefined) return undefined;
  const files = await collect(run.name, results, store);
  const before = readPublications(workspace);
  const folder = new OutputsFolder(run.folder, workspace);
  const isSame = Object.entries(files).every(([path, file]) =>
    sameEntry(before[path], file) && folder.holds(path, file)
  );
  return isSame && staleOf(run, before, files).length === 0 ? files : undefined;
}

function sameEntry(a: Publication | undefined, b: Publication): boolean {
  return a?.run === b.run && a.instance === b.instance && a.key === b.key && a.sha256 === b.sha256;
}

/** What is to go: what the run that this one replaces published, and this one does not. */
function staleOf(
  run: PublishingRun,
  before: Publications,
  files: Publications,
): [string, Publication][] {
  return Object.entries(before).filter(([path, { run: owner }]) =>
    run.replaces && owner === run.name && !Object.hasOwn(files, path)
  );
}

/**
 * Brings `outputs/` up to date with a run's results: writes what is missing or differs. What someone
 * changed or put there is set aside in the store. After a run that replaces the last one of its name it
 * removes what that published and this one does not, unless someone changed it.
 *
 * @returns What the results publish, written now or there before.
 * @throws {ConfigError} If a path may not be used, or two instances publish at one; then nothing was
 * written.
 */
export async function publish(
  run: PublishingRun,
  results: Results,
  { store, workspace }: PublishingPlaces,
  listener: Listener,
): Promise<Publications> {
  const files = await collect(run.name, results, store);
  const folder = new OutputsFolder(run.folder, workspace);
  const before = settled(readPublications(workspace), readEndings(workspace).values(), folder);
  folder.checkInside(Object.keys(files));
  const stale = staleOf(run, before, files);
  const missing = Object.entries(files).filter(([path, file]) => !folder.holds(path, file));
  if (stale.length + missing.length > 0) {
    noteEnding(run.name, { files, gone: stale.map(([path]) => path) }, workspace);
  }
  for (const [path, file] of stale) folder.remove(path, file);
  for (const [path, file] of missing) {
    await folder.write(path, { content: file, before: before[path], store });
    listener({ event: "published", path, instance: file.instance });
  }
  const gone = new Set(stale.map(([path]) => path));
  const kept = Object.entries(before).filter(([path]) => !gone.has(path));
  writePublications({ ...Object.fromEntries(kept), ...files }, workspace);
  return files;
}

/**
 * What is in `outputs/` where runs were killed that published: of what they noted, each file is as it was
 * recorded, as it was to be, or gone.
 */
export function settled(
  recorded: Publications,
  endings: Iterable<Ending>,
  folder: OutputsFolder,
): Publications {
  const found = new Map(Object.entries(recorded));
  for (const { files, gone } of endings) {
    for (const [path, file] of Object.entries(files)) {
      if (folder.holds(path, file)) found.set(path, file);
      else if (!folder.has(path)) found.delete(path);
    }
    for (const path of gone) if (!folder.has(path)) found.delete(path);
  }
  return Object.fromEntries(found);
}

/** Sets aside what a run published: no experiment has that run any more. */
export function unpublish(
  name: string,
  { folder, workspace }: { readonly folder: string; readonly workspace: Workspace },
): void {
  const outputs = new OutputsFolder(folder, workspace);
  const before = settled(readPublications(workspace), readEndings(workspace).values(), outputs);
  for (const [path, { run }] of Object.entries(before)) {
    if (run === name) outputs.setAside(path, `${name} published it`);
  }
  const kept = Object.entries(before).filter(([, { run }]) => run !== name);
  writePublications(Object.fromEntries(kept), workspace);
  dropEnding(name, workspace);
}

/** What results publish, and where. */
async function collect(
  run: string,
  results: Results,
  store: ArtifactStore,
): Promise<Publications> {
  const files = new Map<string, Publication>();
  for (const [{ name: instance, node, params }, { key, outputs }] of results) {
    for (const [name, output] of Object.entries(outputs)) {
      // Of the declaration as it is now: a path is no part of a key, nor of what was made under it.
      const own = node.stage.outputs[name]?.publish?.(params);
      if (own === undefined) continue;
      const place = `${run}/${own}`;
      const found: [string, Content][] = output.kind === "file"
        ? [[place, output]]
        : Object.entries(await manifestOf(output, instance, store))
          .map(([path, content]) => [`${place}/${path}`, content]);
      for (const [path, { sha256, bytes }] of found) {
        checkPath(path, instance);
        checkFree(path, instance, files);
        files.set(path, { run, instance, key, sha256, bytes });
      }
    }
  }
  const folders = new Set([...files.keys()].flatMap(parentsOf));
  for (const [path, { instance }] of files) {
    if (!folders.has(path)) continue;
    throw new ConfigError(
      `Cannot publish outputs/${path}: it must be a file or a folder, and ${instance} writes a file ` +
        "where others write into a folder; publish one of them elsewhere",
    );
  }
  return Object.fromEntries(files);
}

async function manifestOf(
  { sha256 }: OutputRecord,
  instance: string,
  store: ArtifactStore,
): Promise<Manifest> {
  const manifest = await store.manifest(sha256);
  if (manifest) return manifest;
  throw new LockstepError(
    `Cannot publish what ${instance} made: the store must hold the manifest ${sha256}, and does not; ` +
      "run again, which makes it again",
  );
}

/** Refuses a path at which something else is to be. */
function checkFree(
  path: string,
  instance: string,
  files: ReadonlyMap<string, Publication>,
): void {
  const other = files.get(path);
  if (other) {
    throw new ConfigError(
      `Cannot publish outputs/${path}: each path must come from one instance, and both ` +
        `${other.instance} and ${instance} write it`,
    );
  }
}

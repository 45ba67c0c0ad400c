/**
 * Remembers a run with nothing to do: every file and folder that its conclusion was drawn from, for
 * `recall.ts` to look at.
 *
 * @module
 */
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Event } from "../event.ts";
import { lookAt, sortedEntries, type Stat, statOf } from "../files.ts";
import type { Sha256 } from "../key/hash.ts";
import { describeMachine } from "../key/machine.ts";
import { platformAtOnce } from "../key/platform.ts";
import { isSettled } from "../key/source_files.ts";
import { publicationsPath, readPublications } from "../run/publications.ts";
import { bundledFiles } from "../store/code.ts";
import { latestPath } from "../store/latest.ts";
import { FOLDERS } from "../store/local_store.ts";
import { TRACE_FILES } from "../store/paths.ts";
import { seal, writeAtomically } from "../store/sealed.ts";
import { makeFolder } from "../store/workspace.ts";
import { commitFiles } from "./git.ts";
import { filesNamed, importedBesides } from "./imported.ts";
import type { Options } from "./options.ts";
import type { Project } from "./project.ts";
import { CATALOGUE, circumstancesOf, type Memory, placeOf, type Stamps } from "./recall.ts";
import type { Session } from "./session.ts";

const ENGINE = dirname(import.meta.dirname!);
/** More than a project has: somebody's data are in it, which would take long to look at. */
const MAX_SOURCES = 10_000;
/** How far the clock may leave the one that nobody sets. */
const MAX_DRIFT_MS = 1000;

/** A run that ended with nothing to do, and what it said. */
export interface Ended {
  readonly project: Project;
  readonly options: Options;
  readonly events: readonly Event[];
  /** Milliseconds since 1970: before anything was read. */
  readonly since: number;
}

/** Remembers a run, if all that it depends on can be. It is a cache: where it can't be written, it is not. */
export async function remember(session: Session, ended: Ended): Promise<void> {
  try {
    const memory = await memoryOf(session, ended);
    if (memory === undefined) return;
    const path = join(session.store.root, placeOf(memory.circumstances));
    const folder = dirname(path);
    makeFolder(session.store, folder);
    // Left by a process that was killed; one that is at it does without.
    for (const { name } of sortedEntries(folder)) {
      if (name.endsWith(".tmp")) Deno.removeSync(join(folder, name));
    }
    writeAtomically(path, seal(memory, { indent: 0 }));
  } catch {
    /* A full disk, a folder in the way, a file that went meanwhile: the next run looks again. */
  }
}

async function memoryOf(
  session: Session,
  { project, options, events, since }: Ended,
): Promise<Memory | undefined> {
  const { outputs, store, all, graph, experiment, platform, decisions } = session;
  // A mirror is looked at by stages, before the key is taken; an adapter or a program is asked.
  if (!isPlain(options) || graph !== all || experiment.mirror !== undefined) return undefined;
  if (graph.some(({ node }) => node.stage.command)) return undefined;
  if (!events.every(({ event }) => REPEATED.has(event))) return undefined;
  if (platformAtOnce(session.asked) === undefined) return undefined;
  if (Math.abs(Date.now() - performance.timeOrigin - performance.now()) > MAX_DRIFT_MS) {
    return undefined;
  }
  // A commit of what was run is another record; a project's own `.git` counts as its files do.
  const above = configsAbove(project.root);
  const configs = [...above, ...commitFiles(project.root)];
  const circumstances = circumstancesOf(project, options.given);
  const named = filesNamed(circumstances.commandLine, circumstances.cwd);
  const modules = [...modulesOf(session, project)];
  const maps = [join(project.root, "deno.json"), ...above, ...named].filter((path) => statOf(path));
  const sources = stampsOf(
    [
      ...modules,
      ...importedBesides(modules, maps),
      ...otherSources(session),
      ...named,
      ...configs.filter((path) => lookAt(path)),
    ],
    since,
    statOf,
  );
  if (sources === undefined) return undefined;
  const looked = await resultsOf(session);
  const below = looked.paths.map((path) => relative(outputs, path));
  const results = stampsOf(below, since, (path) => lookAt(join(outputs, path))?.stat);
  if (results === undefined) return undefined;
  const isMeasured = graph.some(({ node }) =>
    Object.hasOwn(session.planInput.shared(node.name), "machine")
  );
  return {
    circumstances,
    at: since,
    platform: { asked: session.asked, backend: platform.backend, reason: platform.reason },
    machine: isMeasured ? describeMachine() : null,
    outputs,
    mode: Deno.statSync(store.root).mode,
    folders: FOLDERS.map((name) => join(store.root, name)),
    absent: [
      // Left where the catalogue is in use, or its process was killed.
      ...["wal", "shm", "journal"].map((suffix) => join(outputs, `${CATALOGUE}-${suffix}`)),
      ...configs.filter((path) => !lookAt(path)),
      ...looked.absent,
    ],
    sources,
    results,
    events,
    upToDate: decisions.size,
    quiet: options.quiet,
  };
}

/** What a run with nothing to do says, besides how it ended. */
const REPEATED: ReadonlySet<Event["event"]> = new Set(["plan", "page"]);

/** Whether a run is the one that the experiment's file describes, said in words. */
function isPlain(options: Options): boolean {
  const { set, only, force, finished, locked, mirror, json, acceptPlatform } = options;
  return [set, only, force, acceptPlatform].every((list) => list.length === 0) && !finished &&
    !locked && !json &&
    mirror === undefined;
}

/**
 * The stats of files and folders; `undefined` if one is missing, or may have been written to since the
 * run began, or so shortly before that another write need not show.
 */
function stampsOf(
  paths: Iterable<string>,
  since: number,
  statOf: (path: string) => Stat | undefined,
): Stamps | undefined {
  const found: string[] = [], stats: number[] = [];
  for (const path of new Set(paths)) {
    const stat = statOf(path);
    if (stat === undefined || !isSettled(stat, since)) return undefined;
    found.push(path);
    stats.push(stat.size, stat.mtime, stat.ctime, stat.inode);
  }
  return { paths: found, stats };
}

/** What was read of the experiment, and for bundles. */
function otherSources({ files, graph, store }: Session): string[] {
  const stages = new Set(graph.map(({ node }) => node.stage.name));
  return [...files, ...bundledFiles([...stages], store)];
}

/** Every file and folder of the project and the engine. */
function* modulesOf(session: Session, project: Project): Generator<string> {
  const main = Deno.mainModule.startsWith("file:") ? fileURLToPath(Deno.mainModule) : "";
  // A test's is no file.
  if (lookAt(main)) yield main;
  const left = { count: MAX_SOURCES };
  const others = new Set([join(project.root, "outputs"), session.outputs]);
  for (const folder of [project.root, ENGINE]) yield* below(folder, others, left);
}

/** Where Deno looks for its configuration besides the project's folder, in which every file counts. */
function configsAbove(root: string): string[] {
  const folders: string[] = [];
  for (let folder = root; folder !== dirname(folder);) folders.push(folder = dirname(folder));
  const names = ["deno.json", "deno.jsonc", "package.json"];
  return folders.flatMap((folder) => names.map((name) => join(folder, name)));
}

/** A folder and what is in it, but for hidden folders and those where results are. */
function* below(
  folder: string,
  others: ReadonlySet<string>,
  left: { count: number },
): Generator<string> {
  yield folder;
  for (const { name, isDirectory, isSymlink } of sortedEntries(folder)) {
    const path = join(folder, name);
    if (others.has(path)) continue;
    if (left.count-- === 0) throw new RangeError(`Too many files below ${folder}`);
    if (isDirectory || isSymlink && statOf(path) && Deno.statSync(path).isDirectory) {
      if (!name.startsWith(".")) yield* below(path, others, left);
    } else yield path;
  }
}

/** What the plan and the end of the run looked at, and what of results was received is not here. */
async function resultsOf(
  session: Session,
): Promise<{ readonly paths: readonly string[]; readonly absent: readonly string[] }> {
  const { name, outputs, store, decisions } = session;
  const code = join(store.root, "code");
  const paths = [
    ...[latestPath(name, store), publicationsPath(store), join(outputs, CATALOGUE)],
    ...[code, ...sortedEntries(code).map((entry) => join(code, entry.name))],
    ...[
      ...TRACE_FILES,
      ...Object.entries(readPublications(store))
        .filter(([, { run }]) => run === name).map(([path]) => path),
    ]
      .map((path) => join(outputs, path)),
  ];
  const absent: string[] = [];
  const addBlob = (digest: Sha256): boolean => {
    const path = store.blobPath(digest);
    const isHere = lookAt(path) !== undefined;
    (isHere ? paths : absent).push(path);
    return isHere;
  };
  for (const decision of decisions.values()) {
    if (decision.action !== "cached") throw new Error("Something is to be done");
    paths.push(store.tracePath(decision.key));
    for (const { kind, sha256 } of Object.values(decision.outputs)) {
      if (!addBlob(sha256) || kind === "file") continue;
      for (const file of Object.values((await store.manifest(sha256))!)) addBlob(file.sha256);
    }
  }
  return { paths, absent };
}

/**
 * Runs that the command line names: a lock file, a run recorded in the store, or a git revision.
 *
 * @module
 */
import { resolve } from "node:path";
import { UsageError } from "../errors.ts";
import { latestNames, readLatest } from "../store/latest.ts";
import type { LocalStore } from "../store/local_store.ts";
import { type Lock, type LockEntry, lockName, parseLock, toEntry } from "../store/lockfile.ts";
import type { Sha256 } from "../key/hash.ts";
import { readTag, tagNames } from "../store/tags.ts";
import type { Trace } from "../store/trace.ts";
import { suggestion } from "../suggestion.ts";
import type { Side } from "../views/diff/sides.ts";
import { git } from "./git.ts";
import type { Options } from "./options.ts";
import type { Project } from "./project.ts";

/** Where runs are looked for. */
export interface Place {
  readonly project: Project;
  readonly options: Options;
  readonly store: LocalStore | undefined;
}

/**
 * The run that an operand names: a lock file, else a recorded run, else a tag, else a git revision.
 *
 * @throws {UsageError} If it is none of these.
 */
export async function findRun(operand: string, place: Place): Promise<Side> {
  const { project, store } = place;
  const path = resolve(operand);
  if (isFile(path)) {
    return await withTraces(operand, parseLock(Deno.readTextFileSync(path), operand), store);
  }
  const recorded = store && latestNames(store).includes(operand)
    ? readLatest(operand, store)
    : undefined;
  if (store && recorded) {
    return await recordedSide(`${operand}, as it last ran here`, recorded.keys, store);
  }
  const tagged = store && tagNames(store).includes(operand) ? readTag(operand, store) : undefined;
  if (store && tagged) return await recordedSide(`tag ${operand}`, tagged.keys, store);
  const commit = await git(project.root, [
    ...["rev-parse", "--verify", "--quiet", "--end-of-options"],
    `${operand}^{commit}`,
  ]);
  if (commit !== undefined) return await lockedSide(operand, commit.trim(), place);
  const known = store ? [...latestNames(store), ...tagNames(store)] : [];
  throw new UsageError(
    `Cannot use "${operand}": it must be a lock file, a run recorded in the store, a tag or a git ` +
      `revision, and is none${suggestion(operand, known)}`,
  );
}

function isFile(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

async function withTraces(
  label: string,
  lock: Lock,
  store: LocalStore | undefined,
): Promise<Side> {
  const traces = new Map<string, Trace>();
  for (const [instance, { key }] of lock) {
    const trace = key === undefined ? undefined : await store?.trace(key);
    if (trace) traces.set(instance, trace);
  }
  return { label, lock, traces };
}

async function recordedSide(
  label: string,
  keys: Readonly<Record<string, Sha256>>,
  store: LocalStore,
): Promise<Side> {
  const lock = new Map<string, LockEntry>();
  const traces = new Map<string, Trace>();
  for (const [instance, key] of Object.entries(keys)) {
    const trace = await store.trace(key);
    if (!trace) {
      throw new UsageError(
        `Cannot use ${label}: every result of it must be in the store, and the trace of ` +
          `${instance} is not; run "deno task audit --repair"`,
      );
    }
    traces.set(instance, trace);
    lock.set(instance, toEntry(trace));
  }
  return { label, lock, traces };
}

/** A lock as of a git revision: of the backend asked for, else of the latest run's, else the shared one. */
async function lockedSide(
  revision: string,
  commit: string,
  { project, options, store }: Place,
): Promise<Side> {
  const experiment = options.experiment ?? project.experiment;
  const { profile } = options;
  const ran = store && readLatest(`${experiment}.${profile}`, store)?.backend;
  const backends = options.backend === "auto" ? [ran ?? "wasm", "wasm"] : [options.backend];
  const names = backends.map((backend) => lockName({ experiment, profile, backend }));
  let name = names[0]!, text: string | undefined;
  for (name of names) {
    text = await git(project.root, ["show", `${commit}:./${name}`]);
    if (text !== undefined) break;
  }
  if (text === undefined) {
    throw new UsageError(
      `Cannot use "${revision}": the revision must hold ${name}, and does not; name another ` +
        "lock with --experiment, --profile and --backend",
    );
  }
  const label = `${name} at ${revision} (${commit.slice(0, 10)})`;
  return await withTraces(label, parseLock(text, label), store);
}

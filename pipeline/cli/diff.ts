/**
 * `diff A B`: finds the two runs, compares them and shows the result.
 *
 * @module
 */
import { join, resolve } from "node:path";
import { statOf } from "../store/catalog.ts";
import { suggestion } from "../suggestion.ts";
import { diffRuns, type RunDiff } from "../views/diff.ts";
import type { Side } from "../views/diff/sides.ts";
import type { Comparison, ValueDiff } from "../views/diff/comparison.ts";
import { diffJson } from "../views/diff/leaves.ts";
import { diffPage } from "../views/diff/page.ts";
import { UsageError } from "../errors.ts";
import { latestNames, readLatest } from "../store/latest.ts";
import { type Lock, type LockEntry, lockName, parseLock, toEntry } from "../store/lockfile.ts";
import { LocalStore } from "../store/local_store.ts";
import type { OutputRecord, Trace } from "../store/trace.ts";
import { printDiff } from "./diff_text.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { outputsFolder, reading } from "./session.ts";

/**
 * Compares two runs.
 *
 * @throws {UsageError} If an operand names no run.
 */
export async function diff(
  project: Project,
  options: Options,
  print: Print,
): Promise<void> {
  const folder = join(outputsFolder(project, options), "store");
  // A comparison of two lock files needs no store and makes none.
  const store = statOf(folder) ? new LocalStore(folder, reading(options, print)) : undefined;
  try {
    const [a = "", b = ""] = options.operands;
    const before = await findSide(a, { project, options, store });
    const now = await findSide(b, { project, options, store });
    const runs = diffRuns(before, now);
    const comparison: Comparison = {
      before,
      now,
      runs,
      values: store ? await diffValues(runs, before, now, store) : [],
    };
    printDiff(comparison, options, print);
    if (options.page === undefined) return;
    Deno.writeTextFileSync(options.page, diffPage(comparison));
    if (!options.json) print(`wrote ${options.page}`);
  } finally {
    store?.close();
  }
}

interface Place {
  readonly project: Project;
  readonly options: Options;
  readonly store: LocalStore | undefined;
}

/** The run that an operand names: a lock file, else a recorded run, else a git revision. */
async function findSide(operand: string, place: Place): Promise<Side> {
  const { project, store } = place;
  const path = resolve(operand);
  if (isFile(path)) {
    return await withTraces(operand, parseLock(Deno.readTextFileSync(path), operand), store);
  }
  const recorded = store && latestNames(store).includes(operand)
    ? readLatest(operand, store)
    : undefined;
  if (store && recorded) return await recordedSide(operand, recorded.keys, store);
  const commit = await git(project.root, [
    ...["rev-parse", "--verify", "--quiet", "--end-of-options"],
    `${operand}^{commit}`,
  ]);
  if (commit !== undefined) return await lockedSide(operand, commit.trim(), place);
  const known = store ? latestNames(store) : [];
  throw new UsageError(
    `Cannot compare "${operand}": it must be a lock file, a run recorded in the store or a git ` +
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
    const trace = await store?.trace(key);
    if (trace) traces.set(instance, trace);
  }
  return { label, lock, traces };
}

async function recordedSide(
  name: string,
  keys: Readonly<Record<string, LockEntry["key"]>>,
  store: LocalStore,
): Promise<Side> {
  const lock = new Map<string, LockEntry>();
  const traces = new Map<string, Trace>();
  for (const [instance, key] of Object.entries(keys)) {
    const trace = await store.trace(key);
    if (!trace) {
      throw new UsageError(
        `Cannot compare "${name}": every result of it must be in the store, and the trace of ` +
          `${instance} is not; run "deno task audit --repair"`,
      );
    }
    traces.set(instance, trace);
    lock.set(instance, toEntry(trace));
  }
  return { label: `${name}, as it last ran here`, lock, traces };
}

/** A lock as of a git revision. */
async function lockedSide(
  revision: string,
  commit: string,
  { project, options, store }: Place,
): Promise<Side> {
  const name = lockName({
    experiment: options.experiment ?? project.experiments[0] ?? "",
    profile: options.profile,
    backend: options.backend === "auto" ? "wasm" : options.backend,
  });
  const text = await git(project.root, ["show", `${commit}:./${name}`]);
  if (text === undefined) {
    throw new UsageError(
      `Cannot compare "${revision}": the revision must hold ${name}, and does not; name another ` +
        "lock with --experiment, --profile and --backend",
    );
  }
  const label = `${name} at ${revision} (${commit.slice(0, 10)})`;
  return await withTraces(label, parseLock(text, label), store);
}

/** What git prints; `undefined` if it fails or there is none. */
async function git(root: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const command = new Deno.Command("git", {
      args: ["-C", root, ...args],
      stdin: "null",
      stderr: "null",
    });
    const { success, stdout } = await command.output();
    return success ? new TextDecoder().decode(stdout) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** Larger artifacts are data, not findings. */
const LARGEST_JSON_BYTES = 8_000_000;

/** Compares the JSON files among the outputs that differ, where the store has both versions. */
async function diffValues(
  runs: RunDiff,
  before: Side,
  now: Side,
  store: LocalStore,
): Promise<ValueDiff[]> {
  const values: ValueDiff[] = [];
  for (const { instance, outputs } of runs.both) {
    for (const output of outputs) {
      const textOf = async (side: Side) => {
        // The lock's digest, not the trace's: under one key there may be two results.
        const record = side.traces.get(instance)?.outputs[output];
        const digest = side.lock.get(instance)?.outputs[output]?.sha256;
        if (record?.kind !== "file" || digest === undefined) return undefined;
        return await jsonText(store, { ...record, sha256: digest });
      };
      const [old, current] = [await textOf(before), await textOf(now)];
      const found = old === undefined || current === undefined ? undefined : diffJson(old, current);
      if (found) values.push({ instance, output, ...found });
    }
  }
  return values;
}

async function jsonText(
  store: LocalStore,
  { sha256, bytes }: OutputRecord,
): Promise<string | undefined> {
  if (bytes > LARGEST_JSON_BYTES) return undefined;
  const text = await store.readText(sha256);
  return text !== undefined && /^[{[]/.test(text) ? text : undefined;
}

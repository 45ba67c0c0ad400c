/**
 * `diff A B`: finds the two runs, compares them and shows the result.
 *
 * @module
 */
import { join, resolve } from "node:path";
import { statOf } from "../store/catalog.ts";
import { suggestion } from "../config/document.ts";
import { diffRuns, type RunDiff } from "../views/diff.ts";
import type { Side } from "../views/diff/sides.ts";
import type { Comparison, ValueDiff } from "../views/diff/comparison.ts";
import { diffJson } from "../views/diff/leaves.ts";
import { diffPage } from "../views/diff/page.ts";
import { ConfigError } from "../errors.ts";
import { latestNames, readLatest } from "../store/latest.ts";
import { type Lock, type LockEntry, lockName, parseLock, toEntry } from "../store/lockfile.ts";
import { Store } from "../store/store.ts";
import type { Trace } from "../store/trace.ts";
import { printDiff } from "./diff_text.ts";
import type { Options } from "./options.ts";
import { outputsFolder, type Project, READING } from "./session.ts";

/**
 * Compares two runs.
 *
 * @throws {ConfigError} If an operand names no run.
 */
export async function diff(
  project: Project,
  options: Options,
  print: (line: string) => void,
): Promise<void> {
  const folder = join(outputsFolder(project, options), "store");
  // A comparison of two lock files needs no store and makes none.
  const store = statOf(folder) ? new Store(folder, READING) : undefined;
  try {
    const [a = "", b = ""] = options.operands;
    const before = await findSide(a, { project, options, store });
    const now = await findSide(b, { project, options, store });
    const runs = diffRuns(before, now);
    const comparison: Comparison = {
      before,
      now,
      runs,
      values: store ? diffValues(runs, before, now, store) : [],
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
  readonly store: Store | undefined;
}

/** The run that an operand names: a lock file, else a recorded run, else a git revision. */
async function findSide(operand: string, place: Place): Promise<Side> {
  const { project, store } = place;
  const path = resolve(operand);
  if (isFile(path)) {
    return withTraces(operand, parseLock(Deno.readTextFileSync(path), operand), store);
  }
  const recorded = store && latestNames(store).includes(operand)
    ? readLatest(operand, store)
    : undefined;
  if (store && recorded) return recordedSide(operand, recorded.keys, store);
  const commit = await git(project.root, [
    ...["rev-parse", "--verify", "--quiet", "--end-of-options"],
    `${operand}^{commit}`,
  ]);
  if (commit !== undefined) return await lockedSide(operand, commit.trim(), place);
  const known = store ? latestNames(store) : [];
  throw new ConfigError(
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

function withTraces(label: string, lock: Lock, store: Store | undefined): Side {
  const traces = new Map<string, Trace>();
  for (const [instance, { key }] of lock) {
    const trace = store?.trace(key);
    if (trace) traces.set(instance, trace);
  }
  return { label, lock, traces };
}

function recordedSide(
  name: string,
  keys: Readonly<Record<string, LockEntry["key"]>>,
  store: Store,
): Side {
  const lock = new Map<string, LockEntry>();
  const traces = new Map<string, Trace>();
  for (const [instance, key] of Object.entries(keys)) {
    const trace = store.trace(key);
    if (!trace) {
      throw new ConfigError(
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
    throw new ConfigError(
      `Cannot compare "${revision}": the revision must hold ${name}, and does not; name another ` +
        "lock with --experiment, --profile and --backend",
    );
  }
  const label = `${name} at ${revision} (${commit.slice(0, 10)})`;
  return withTraces(label, parseLock(text, label), store);
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
function diffValues(runs: RunDiff, before: Side, now: Side, store: Store): ValueDiff[] {
  const values: ValueDiff[] = [];
  for (const { instance, outputs } of runs.both) {
    for (const output of outputs) {
      const texts = [before, now].map((side) => {
        // The lock's digest, not the trace's: under one key there may be two results.
        const record = side.traces.get(instance)?.outputs[output];
        const digest = side.lock.get(instance)?.outputs[output]?.sha256;
        if (record?.kind !== "file" || digest === undefined) return undefined;
        return jsonText(store, digest);
      });
      const [old, current] = texts;
      const found = old === undefined || current === undefined ? undefined : diffJson(old, current);
      if (found) values.push({ instance, output, ...found });
    }
  }
  return values;
}

function jsonText(store: Store, digest: LockEntry["key"]): string | undefined {
  const path = store.blobPath(digest);
  const stat = statOf(path);
  if (!stat || stat.size === 0 || stat.size > LARGEST_JSON_BYTES) return undefined;
  using file = Deno.openSync(path);
  const first = new Uint8Array(1);
  file.readSync(first);
  if (!"{[".includes(String.fromCharCode(first[0]!))) return undefined;
  return store.check(digest) === "ok" ? Deno.readTextFileSync(path) : undefined;
}

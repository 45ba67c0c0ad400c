/**
 * Lock files: what a reviewed run produced, one sorted line for each instance, in `lock/`.
 *
 * ```text
 * # What "fusion" with profile "smoke" produces. Written by reproduce, checked by --locked.
 * train/short/wide/0  key=9c02…  weights=numeric:3f…  history=numeric:a1…  "F1"=0.93
 * latency/short/0  recipe=77b1…  latency=measured
 * ```
 *
 * Where an output is measured, the line has no key and no metric: what such an instance reads or
 * finds may be another with every run from scratch, and no result moved. It has a recipe instead, of what
 * is the same each time.
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError } from "../errors.ts";
import { lookAt, readText, sortedEntries, UnreadableError } from "../files.ts";
import { isSha256, type Sha256 } from "../key/hash.ts";
import type { Exactness } from "../stage.ts";
import { recipesOf } from "./recipe.ts";
import { writeAtomically } from "./sealed.ts";
import type { Trace } from "./trace.ts";

/** One locked output; a measured one has no digest. */
export interface LockedOutput {
  readonly exactness: Exactness;
  readonly sha256?: Sha256;
}

/** One locked instance. */
export interface LockEntry {
  /** Absent where an output is measured. */
  readonly key?: Sha256;
  /** There instead: see `recipe.ts`. */
  readonly recipe?: Sha256;
  readonly outputs: Readonly<Record<string, LockedOutput>>;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Instance name to what it produced. */
export type Lock = ReadonlyMap<string, LockEntry>;

/**
 * Where the lock of a run is. WASM that rounds each operation gives the same bits on every machine, so
 * its lock is the one that is shared; another backend's says so in its name.
 */
export function lockName(run: { experiment: string; profile: string; backend: string }): string {
  const backend = run.backend === "wasm" ? "" : `.${run.backend}`;
  return `lock/${run.experiment}.${run.profile}${backend}.lock`;
}

/** Whether a path, `lock/…`, is that of an experiment's lock. */
export function isExperimentLock(name: string): boolean {
  return /^lock\/[^/]+\.lock$/.test(name) && !/^lock\/(deno|pins)\.lock$/.test(name);
}

/** The paths, `lock/…`, of the experiments' locks of a project. */
export function lockNames(root: string): string[] {
  return sortedEntries(join(root, "lock")).map(({ name }) => `lock/${name}`).filter(
    isExperimentLock,
  );
}

/** The lock of a run. */
export function lockOf(traces: ReadonlyMap<string, Trace>): Lock {
  const recipeOf = recipesOf(traces);
  return new Map([...traces].map(([instance, trace]) => {
    const recipe = recipeOf(trace), entry = toEntry(trace);
    return [instance, recipe === undefined ? entry : { recipe, ...entry }];
  }));
}

/** The line of the lock for a trace, but for a recipe. */
export function toEntry({ key, outputs, metrics }: Trace): LockEntry {
  const locked = Object.entries(outputs).map(([name, { exactness, sha256 }]) =>
    [name, exactness === "measured" ? { exactness } : { exactness, sha256 }] as const
  );
  const entry = { outputs: Object.fromEntries(locked) };
  return isMeasured(entry) ? { ...entry, metrics: {} } : { key, ...entry, metrics };
}

function isMeasured({ outputs }: Pick<LockEntry, "outputs">): boolean {
  return Object.values(outputs).some(({ exactness }) => exactness === "measured");
}

/** Names that are written as they are; any other is quoted as JSON does. */
const PLAIN_NAME = /^(?!(?:key|recipe)$)[a-z][\w.]*$/;
// deno-lint-ignore no-control-regex
const PLAIN_INSTANCE = /^[^#"\s\0-\x1f\x7f][^"\s\0-\x1f\x7f]*$/;

function quote(name: string, plain: RegExp): string {
  return plain.test(name) ? name : JSON.stringify(name);
}

/** The text of a lock file. Measured outputs are named without a digest: theirs means nothing. */
export function formatLock(run: { experiment: string; profile: string }, lock: Lock): string {
  const lines = [...lock].map(([instance, { key, recipe, outputs, metrics }]) =>
    [
      quote(instance, PLAIN_INSTANCE),
      ...(key === undefined ? [] : [`key=${key}`]),
      ...(recipe === undefined ? [] : [`recipe=${recipe}`]),
      ...sorted(outputs).map(([name, { exactness, sha256 }]) =>
        `${quote(name, PLAIN_NAME)}=${
          exactness === "measured" ? exactness : `${exactness}:${sha256}`
        }`
      ),
      ...sorted(metrics).map(([name, value]) => `${quote(name, PLAIN_NAME)}=${value}`),
    ].join("  ")
  );
  const title = `# What "${run.experiment}" with profile "${run.profile}" produces. ` +
    "Written by reproduce, checked by reproduce --locked.";
  return [title, ...lines.sort(), ""].join("\n");
}

function sorted<T>(record: Readonly<Record<string, T>>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1);
}

/**
 * Reads a lock file; `undefined` if there is none.
 *
 * @throws {ConfigError} At a line that is not one.
 */
export function readLock(path: string, name: string): Lock | undefined {
  const text = readText(path);
  return text === undefined ? undefined : parseLock(text, name);
}

/**
 * The lock in a text; `name` is what messages call it.
 *
 * @throws {ConfigError} At a line that is not one.
 */
export function parseLock(text: string, name: string): Lock {
  const lock = new Map<string, LockEntry>();
  text.split("\n").forEach((line, index) => {
    if (line === "" || line.startsWith("#")) return;
    const fail = (problem: string): never => {
      throw new ConfigError(
        `${name}:${index + 1}: not a lock line: ${problem}; restore the file, or run "deno task ` +
          'reproduce" to write it again',
      );
    };
    const [instance, entry] = parseLine(line, fail);
    if (lock.has(instance)) fail(`"${instance}" is there twice`);
    lock.set(instance, entry);
  });
  return lock;
}

const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const INSTANCE = new RegExp(`${QUOTED}|[^\\s"]+`, "y");
const FIELD = new RegExp(`  (${QUOTED}|[^\\s"=]+)=(\\S+)`, "y");

function parseLine(line: string, fail: (problem: string) => never): [string, LockEntry] {
  const unquote = (name: string): string => {
    if (!name.startsWith('"')) return name;
    try {
      return JSON.parse(name);
    } catch {
      return fail(`${name} must be quoted as JSON is`);
    }
  };
  INSTANCE.lastIndex = 0;
  const instance = unquote(INSTANCE.exec(line)?.[0] ?? fail("it must begin with an instance"));
  const made: { key?: Sha256; recipe?: Sha256 } = {};
  const outputs = new Map<string, LockedOutput>();
  const metrics = new Map<string, number>();
  for (let at = INSTANCE.lastIndex; at < line.length; at = FIELD.lastIndex) {
    FIELD.lastIndex = at;
    const [, written = "", value = ""] = FIELD.exec(line) ??
      fail(`"${line.slice(at).trim()}" must be name=value after two spaces`);
    const field = unquote(written);
    const [, exactness, digest = ""] = /^(exact|numeric):(.*)$/.exec(value) ?? [];
    if ((written === "key" || written === "recipe") && isSha256(value)) made[written] = value;
    else if (value === "measured") outputs.set(field, { exactness: value });
    else if (exactness !== undefined && isSha256(digest)) {
      outputs.set(field, { exactness: exactness as Exactness, sha256: digest });
    } else if (/^-?\d+(\.\d+)?(e[+-]\d+)?$/.test(value)) metrics.set(field, Number(value));
    else fail(`"${written}=${value}" must be key=, recipe=, output=kind:digest or metric=number`);
  }
  const entry = { outputs: Object.fromEntries(outputs), metrics: Object.fromEntries(metrics) };
  const named = isMeasured(entry) ? "recipe" : "key";
  if (made[named] === undefined) fail(`it has no ${named}`);
  return [instance, { ...made, ...entry }];
}

/** Writes a lock file if its content changed; says whether it did. */
export function writeLock(path: string, text: string): boolean {
  try {
    if (readText(path) === text) return false;
  } catch (error) {
    // A folder can't be replaced.
    if (!(error instanceof UnreadableError) || lookAt(path)?.kind === "a folder") throw error;
  }
  writeAtomically(path, text);
  return true;
}

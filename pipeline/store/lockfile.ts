/**
 * Lock files: what a reviewed run produced, one sorted line for each instance, in `lock/`.
 *
 * ```text
 * # What "fusion" with profile "smoke" produces. Written by reproduce, checked by --locked.
 * train/short/sinusoidal/add/0  key=9c02…  weights=numeric:3f…  history=numeric:a1…
 * ```
 *
 * @module
 */
import { ConfigError } from "../errors.ts";
import { isSha256, type Sha256 } from "../key/hash.ts";
import type { Exactness } from "../stage.ts";
import { writeAtomically } from "./sealed.ts";
import type { Trace } from "./trace.ts";

/** One locked output; a measured one has no digest. */
export interface LockedOutput {
  readonly exactness: Exactness;
  readonly sha256?: Sha256;
}

/** One locked instance. */
export interface LockEntry {
  readonly key: Sha256;
  readonly outputs: Readonly<Record<string, LockedOutput>>;
  readonly metrics: Readonly<Record<string, number>>;
}

/** Instance name to what it produced. */
export type Lock = ReadonlyMap<string, LockEntry>;

/**
 * Where the lock of a run stands. WASM gives the same bits on every machine, so its lock is the
 * one that is shared; another backend's says so in its name.
 */
export function lockName(run: { experiment: string; profile: string; backend: string }): string {
  const backend = run.backend === "wasm" ? "" : `.${run.backend}`;
  return `lock/${run.experiment}.${run.profile}${backend}.lock`;
}

/** The line of the lock for a trace. */
export function toEntry(trace: Trace): LockEntry {
  const outputs = Object.entries(trace.outputs).map(([name, { exactness, sha256 }]) =>
    [name, exactness === "measured" ? { exactness } : { exactness, sha256 }] as const
  );
  return { key: trace.key, outputs: Object.fromEntries(outputs), metrics: trace.metrics };
}

/** The text of a lock file. Measured outputs are named without a digest: theirs means nothing. */
export function formatLock(run: { experiment: string; profile: string }, lock: Lock): string {
  const lines = [...lock].map(([instance, { key, outputs, metrics }]) => {
    const parts = Object.entries(outputs).sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, { exactness, sha256 }]) =>
        exactness === "measured" ? `${name}=measured` : `${name}=${exactness}:${sha256}`
      );
    const figures = Object.entries(metrics).sort(([a], [b]) => a < b ? -1 : 1)
      .map(([name, value]) => `${name}=${value}`);
    return [instance, `key=${key}`, ...parts, ...figures].join("  ");
  });
  const title = `# What "${run.experiment}" with profile "${run.profile}" produces. ` +
    "Written by reproduce, checked by reproduce --locked.";
  return [title, ...lines.sort(), ""].join("\n");
}

/**
 * Reads a lock file; `undefined` if there is none.
 *
 * @throws {ConfigError} At a line that is not one.
 */
export function readLock(path: string, name: string): Lock | undefined {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  return parseLock(text, name);
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
    const [instance = "", ...fields] = line.split("  ");
    let key: Sha256 | undefined;
    const outputs: Record<string, LockedOutput> = {};
    const metrics: Record<string, number> = {};
    for (const field of fields) {
      const [, fieldName = "", value = ""] = /^([a-z][\w.]*)=(.+)$/.exec(field) ?? [];
      const [, exactness, digest = ""] = /^(exact|numeric):(.*)$/.exec(value) ?? [];
      if (fieldName === "key" && isSha256(value)) key = value;
      else if (fieldName !== "" && value === "measured") outputs[fieldName] = { exactness: value };
      else if (exactness !== undefined && isSha256(digest)) {
        outputs[fieldName] = { exactness: exactness as Exactness, sha256: digest };
      } else if (fieldName !== "" && value !== "" && Number.isFinite(Number(value))) {
        metrics[fieldName] = Number(value);
      } else {
        throw new ConfigError(
          `${name}:${index + 1}: not a lock line: "${field}" must be key=, output=kind:digest or ` +
            `metric=number; restore the file, or run "deno task reproduce" to write it anew`,
        );
      }
    }
    if (!key || lock.has(instance)) {
      throw new ConfigError(
        `${name}:${index + 1}: ${key ? `"${instance}" stands twice` : "the line has no key"}`,
      );
    }
    lock.set(instance, { key, outputs, metrics });
  });
  return lock;
}

/** Writes a lock file if its content changed; says how many lines did. */
export function writeLock(path: string, text: string): number {
  let before = "";
  try {
    before = Deno.readTextFileSync(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  if (before === text) return 0;
  writeAtomically(path, text);
  const old = new Set(before.split("\n"));
  const lines = text.split("\n");
  const kept = lines.filter((line) => old.has(line)).length;
  return Math.max(lines.length, old.size) - kept;
}

/**
 * What in a run's result differs from the lock, one sentence each. Exact outputs must have the same
 * bits, and so must numeric ones, for a lock is of one backend; measured ones are not compared.
 */
export function compareWithLock(
  lock: Lock,
  traces: ReadonlyMap<string, LockEntry>,
  options: { readonly whole: boolean },
): string[] {
  const found: string[] = [];
  for (const instance of options.whole ? lock.keys() : []) {
    if (!traces.has(instance)) {
      found.push(`${instance} is in the lock, and the run has no such instance`);
    }
  }
  for (const [instance, now] of traces) {
    const locked = lock.get(instance);
    if (!locked) {
      found.push(`${instance} is not in the lock`);
      continue;
    }
    for (const [name, output] of Object.entries(now.outputs)) {
      const before = locked.outputs[name];
      if (before && before.exactness !== output.exactness) {
        found.push(
          `${instance}: output "${name}" must be ${before.exactness}, found ${output.exactness}`,
        );
      } else if (output.exactness === "measured") continue;
      else if (!before) found.push(`${instance}: output "${name}" is not in the lock`);
      else if (before.sha256 !== output.sha256) {
        const [wanted, got] = [before.sha256, output.sha256].map((hash) => hash?.slice(0, 12));
        found.push(
          `${instance}: output "${name}" must be ${wanted}…, found ${got}…${figures(locked, now)}`,
        );
      }
    }
  }
  return found;
}

function figures(locked: LockEntry, now: LockEntry): string {
  const parts = Object.entries(now.metrics)
    .filter(([name, value]) => locked.metrics[name] !== value)
    .map(([name, value]) => `${name} ${locked.metrics[name] ?? "absent"} → ${value}`);
  return parts.length > 0 ? ` (${parts.join(", ")})` : "";
}

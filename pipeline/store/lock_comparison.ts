/**
 * What differs between a lock and the results of a run, or between two locks.
 *
 * @module
 */
import type { Lock, LockedOutput, LockEntry } from "./lockfile.ts";

/** One thing that differs, in a sentence that begins with the instance. */
export interface Difference {
  readonly instance: string;
  readonly message: string;
}

/**
 * What in a run's results differs from the lock. Exact outputs must have the same bits, and so must
 * numeric ones, for a lock is of one backend; of measured ones there must be as many. Metrics must be
 * the same numbers. Keys may differ: other code with the same results passes.
 *
 * @param options.whole Whether the results are all that the run has.
 * @param options.made Whether keys and recipes must be the same too.
 */
export function compareWithLock(
  lock: Lock,
  results: Lock,
  options: { readonly whole: boolean; readonly made?: boolean },
): Difference[] {
  const found: Difference[] = [];
  const differ = (instance: string, what: string) =>
    found.push({ instance, message: `${instance}${what}` });
  for (const instance of options.whole ? lock.keys() : []) {
    if (!results.has(instance)) {
      differ(instance, " is in the lock, and the run has no such instance");
    }
  }
  for (const [instance, now] of results) {
    const locked = lock.get(instance);
    if (!locked) {
      differ(instance, " is not in the lock");
      continue;
    }
    for (const message of entryDifferences(locked, now)) differ(instance, `: ${message}`);
    for (const message of options.made ? madeDifferences(locked, now) : []) {
      differ(instance, `: ${message}`);
    }
  }
  return found;
}

/** How many results a list of differences is about. */
export function countResults(differences: readonly Difference[]): number {
  return new Set(differences.map(({ instance }) => instance)).size;
}

function* entryDifferences(locked: LockEntry, now: LockEntry): Generator<string> {
  for (const name of namesOf(locked.outputs, now.outputs)) {
    const [before, output] = [own(locked.outputs, name), own(now.outputs, name)];
    const found = outputDifference(before, output);
    if (found !== undefined) yield `output ${JSON.stringify(name)} ${found}`;
  }
  for (const name of namesOf(locked.metrics, now.metrics)) {
    const [before, value] = [own(locked.metrics, name), own(now.metrics, name)];
    if (before === value) continue;
    yield `metric ${JSON.stringify(name)} must be ${before ?? "absent"}, found ${value ?? "none"}`;
  }
}

/** What says how a result was made: of what is measured, it is all that a lock says. */
function* madeDifferences(locked: LockEntry, now: LockEntry): Generator<string> {
  for (const name of ["key", "recipe"] as const) {
    const [before, found] = [locked[name], now[name]].map((digest) =>
      digest === undefined ? "none" : `${digest.slice(0, 12)}…`
    );
    if (locked[name] !== now[name]) yield `${name} must be ${before}, found ${found}`;
  }
}

function outputDifference(
  before: LockedOutput | undefined,
  now: LockedOutput | undefined,
): string | undefined {
  if (!now) return "is in the lock, and the run has no such output";
  if (!before) return "is not in the lock";
  if (before.exactness !== now.exactness) {
    return `must be ${before.exactness}, found ${now.exactness}`;
  }
  if (before.sha256 === now.sha256) return undefined;
  return `must be ${before.sha256?.slice(0, 12)}…, found ${now.sha256?.slice(0, 12)}…`;
}

type Named<T> = Readonly<Record<string, T>>;

function namesOf<T>(a: Named<T>, b: Named<T>): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].sort();
}

/** A value by its name; `undefined` for what an object inherits. */
function own<T>(record: Named<T>, name: string): T | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

/**
 * Compares two JSON artifacts leaf by leaf: what says something in words, such as a verdict, is
 * named with its values; numbers are counted; digests are left out.
 *
 * @module
 */
import { isSha256 } from "../../key/hash.ts";

/** A leaf whose value differs and is not a number in both; `undefined` where it is absent. */
export interface WordChange {
  /** `claims[A1].verdict`. */
  readonly path: string;
  readonly before: string | undefined;
  readonly now: string | undefined;
}

/** What differs between two JSON values. */
export interface LeafDiff {
  /** In the order of paths. */
  readonly words: readonly WordChange[];
  /** Leaves that are a number in both and differ. */
  readonly numbers: number;
}

/** The differing leaves of two JSON texts; `undefined` if either is none. */
export function diffJson(before: string, now: string): LeafDiff | undefined {
  const [old, current] = [leavesOf(before), leavesOf(now)];
  if (!old || !current) return undefined;
  const words: WordChange[] = [];
  let numbers = 0;
  for (const path of [...new Set([...old.keys(), ...current.keys()])].sort()) {
    const [a, b] = [old.get(path), current.get(path)];
    if (a === b) continue;
    // A digest says only that something else changed, which is reported where it did.
    if (isDigest(a) && isDigest(b)) continue;
    if (typeof a === "number" && typeof b === "number") numbers++;
    // A measured number that is there in one run only is reported with what it belongs to.
    else if (typeof (a ?? b) !== "number" || (a !== undefined && b !== undefined)) {
      words.push({ path, before: text(a), now: text(b) });
    }
  }
  return { words, numbers };
}

type Leaf = string | number | boolean | null;

function isDigest(leaf: Leaf | undefined): boolean {
  return typeof leaf === "string" && isSha256(leaf);
}

function text(leaf: Leaf | undefined): string | undefined {
  return leaf === undefined ? undefined : String(leaf);
}

function leavesOf(json: string): Map<string, Leaf> | undefined {
  const leaves = new Map<string, Leaf>();
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  collect("", value, leaves);
  return leaves;
}

/** An element of a list goes by its `id` or `name`, where each has its own, else by its index. */
function collect(path: string, value: unknown, into: Map<string, Leaf>): void {
  if (Array.isArray(value)) {
    const names = value.map(nameOf);
    const named = names.every((name) => name !== undefined) && new Set(names).size === names.length;
    value.forEach((entry, index) =>
      collect(`${path}[${named ? names[index] : index}]`, entry, into)
    );
  } else if (value !== null && typeof value === "object") {
    for (const [key, entry] of Object.entries(value)) {
      collect(path === "" ? key : `${path}.${key}`, entry, into);
    }
  } else into.set(path, value as Leaf);
}

function nameOf(entry: unknown): string | undefined {
  if (entry === null || typeof entry !== "object") return undefined;
  const { id, name } = entry as Readonly<Record<string, unknown>>;
  return typeof id === "string" ? id : typeof name === "string" ? name : undefined;
}

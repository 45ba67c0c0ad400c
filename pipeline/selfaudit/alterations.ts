/**
 * Alterations of what a store and its project hold, as a hostile hand or a bad disk would make them.
 *
 * @module
 */
import { join } from "node:path";
import { sortedEntries } from "../files.ts";
import { latestNames, readLatest } from "../store/latest.ts";
import { lockName } from "../store/lockfile.ts";

/** Draws a number below a bound. */
export type Next = (bound: number) => number;

/** Files below a folder, sorted; none if there is no such folder. */
export function filesBelow(folder: string, except: readonly string[] = []): string[] {
  return sortedEntries(folder).flatMap(({ name, isDirectory }) => {
    const path = join(folder, name);
    if (except.includes(path)) return [];
    return isDirectory ? filesBelow(path, except) : [path];
  });
}

/** What may be altered, by kind. */
export function targets(root: string, outputs: string): Record<string, readonly string[]> {
  const store = join(outputs, "store");
  const workspace = { root: store, setAside() {} };
  const locks = latestNames(workspace).flatMap((name) => {
    const run = readLatest(name, workspace);
    return run?.lock === undefined ? [] : [join(root, lockName(run))];
  });
  return {
    blobs: filesBelow(join(store, "blobs")),
    traces: filesBelow(join(store, "traces")),
    code: filesBelow(join(store, "code")),
    checkpoints: filesBelow(join(store, "checkpoints")).filter((path) => !path.endsWith(".owner")),
    records: filesBelow(join(store, "runs")),
    certificates: filesBelow(join(store, "certificates")),
    "published.json": [join(store, "published.json")],
    locks,
    outputs: filesBelow(outputs, [store]),
    "catalogue pages": [join(store, "catalog.sqlite")],
    memories: filesBelow(join(store, "remembered")),
  };
}

/** What is done to a file. */
export const OPERATIONS = [
  "flip",
  "flip, times kept",
  "truncate",
  "append",
  "delete",
  "swap",
] as const;

/**
 * Alters a file. Returns what it altered, which is nothing where that would change no byte.
 *
 * @param o.files Others of its kind, one of which it may change places with.
 */
export function alter(
  path: string,
  { files, operation, next }: {
    readonly files: readonly string[];
    readonly operation: typeof OPERATIONS[number];
    readonly next: Next;
  },
): string[] {
  const { size } = Deno.statSync(path);
  Deno.chmodSync(path, 0o644);
  switch (operation) {
    case "delete":
      Deno.removeSync(path);
      return [path];
    case "truncate":
      if (size === 0) return [];
      Deno.truncateSync(path, next(size));
      return [path];
    case "append":
      Deno.writeTextFileSync(path, "\n".repeat(1 + next(3)), { append: true });
      return [path];
    case "swap": {
      const other = files[next(files.length)]!;
      const [a, b] = [Deno.readFileSync(path), Deno.readFileSync(other)];
      if (a.length === b.length && a.every((byte, index) => byte === b[index])) return [];
      Deno.chmodSync(other, 0o644);
      Deno.writeFileSync(path, b);
      Deno.writeFileSync(other, a);
      return [path, other];
    }
    default: {
      if (size === 0) return [];
      flipBit(path, { byte: next(size), bit: next(8), keepsTimes: operation !== "flip" });
      return [path];
    }
  }
}

/** Flips one bit of a file, whose size and mode stay and, if asked, its times. */
export function flipBit(
  path: string,
  { byte, bit, keepsTimes }: {
    readonly byte: number;
    readonly bit: number;
    readonly keepsTimes: boolean;
  },
): void {
  const { mtime, atime, mode } = Deno.statSync(path);
  Deno.chmodSync(path, 0o644);
  const bytes = Deno.readFileSync(path);
  bytes[byte]! ^= 1 << bit;
  Deno.writeFileSync(path, bytes);
  Deno.chmodSync(path, mode! & 0o777);
  if (keepsTimes) Deno.utimeSync(path, atime!, mtime!);
}

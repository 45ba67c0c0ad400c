/**
 * `gc`: says what of the store nothing needs and, with `--delete`, removes it.
 *
 * @module
 */
import { join } from "node:path";
import { LockstepError } from "../errors.ts";
import { statOf } from "../files.ts";
import { collect, type Collected } from "../gc/collect.ts";
import { findGarbage, type Request } from "../gc/garbage.ts";
import type { Item } from "../gc/kinds.ts";
import { LocalStore } from "../store/local_store.ts";
import { column, wrapping } from "./layout.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { outputsFolder, reading } from "./session.ts";

/** Prints what can go, or what went. */
export async function gc(project: Project, options: Options, print: Print): Promise<void> {
  const outputs = outputsFolder(project, options);
  if (!statOf(join(outputs, "store"))) {
    throw new LockstepError(
      `Cannot collect garbage in ${outputs}: it must hold a store, and nothing was run there yet`,
    );
  }
  // To read only: damage is the audit's matter, and removing needs no room for a catalogue.
  const store = new LocalStore(join(outputs, "store"), reading(options, print));
  try {
    const { latest, include } = options;
    const request: Request = { root: project.root, store, latest, include };
    const found: Collected = options.delete
      ? await collect(request)
      : { ...await findGarbage(request), removed: [] };
    const listed = options.delete ? found.removed : found.items;
    if (options.json) printEvents(found, listed, print);
    else printText(found, listed, { options, print });
  } finally {
    store.close();
  }
}

/** What goes, summed up. */
interface Row {
  readonly what: string;
  readonly files: number;
  readonly bytes: number;
}

/** Results by their stage, most bytes first, then the rest by its kind. */
function rowsOf(items: readonly Item[]): Row[] {
  const groups = Map.groupBy(
    items,
    ({ kind, stage }) =>
      stage ?? (kind === "blob" || kind === "trace" ? "(leftovers)" : `(${kind})`),
  );
  return [...groups].map(([what, own]) => ({ what, files: own.length, bytes: total(own) }))
    .sort((a, b) => order(a.what) - order(b.what) || b.bytes - a.bytes);
}

function order(what: string): number {
  return what.startsWith("(") ? 1 : 0;
}

function total(items: readonly Item[]): number {
  return items.reduce((sum, { bytes }) => sum + bytes, 0);
}

function printEvents(
  { roots, onRequest, shortened, kept }: Collected,
  listed: readonly Item[],
  print: Print,
): void {
  for (const item of listed) print(JSON.stringify({ event: "garbage", ...item }));
  const counts = { files: listed.length, bytes: total(listed), kept };
  const names = {
    runs: [...roots.runs.keys()],
    tags: [...roots.tags.keys()],
    locks: [...roots.locks.keys()],
  };
  const runs = shortened.map(({ experiment, profile }) => `${experiment}.${profile}`);
  const left = { files: onRequest.length, bytes: total(onRequest) };
  print(JSON.stringify({ event: "gc", ...counts, roots: names, shortened: runs, onRequest: left }));
}

function printText(
  { roots, onRequest, shortened, kept }: Collected,
  listed: readonly Item[],
  { options, print }: { readonly options: Options; readonly print: Print },
): void {
  const rows = rowsOf(listed);
  if (rows.length === 0) print("nothing to remove");
  else {
    const columns = [
      column(options.delete ? "removed" : "can go", rows.map(({ what }) => what)),
      column("files", rows.map(({ files }) => String(files))),
      column("MB", rows.map(({ bytes }) => megabytes(bytes))),
    ];
    columns[0]!.forEach((_, row) => print(columns.map((cells) => cells[row]).join("  ")));
    print(`${listed.length} files, ${megabytes(total(listed))} MB`);
  }
  const say = wrapping(print);
  const by = [
    ...[...roots.runs.keys()].map((name) => `run ${name}`),
    ...[...roots.tags.keys()].map((name) => `tag ${name}`),
    ...roots.locks.keys(),
    ...(roots.orders.length > 0
      ? [`${roots.orders.length} Slurm job${roots.orders.length > 1 ? "s" : ""}`]
      : []),
  ];
  say(
    `kept: ${kept.results} results, ${megabytes(kept.bytes)} MB, by ${by.join(", ") || "nothing"}`,
  );
  for (const { experiment, profile } of shortened) {
    say(`${experiment}.${profile} keeps no more than what is published, locked or tagged`);
  }
  for (const { what, files, bytes } of rowsOf(onRequest)) {
    const kind = what.slice(1, -1);
    say(`kept: ${files} ${kind}, ${megabytes(bytes)} MB; --include ${kind} removes them`);
  }
  if (!options.delete && listed.length > 0) say("nothing was removed: --delete does it");
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(2);
}

/**
 * Where an output that was made again differs from the recorded one, for people.
 *
 * @module
 */
import type { Material } from "./replay.ts";
import { toManifest } from "../store/trace.ts";

/**
 * The first place in which they differ, ` at line 3: recorded "0.91", again "0.95"`; empty where the
 * recorded bytes are not at hand.
 *
 * @param again Paths within the output to contents; a file's path is empty.
 */
export function difference(
  recorded: string,
  again: ReadonlyMap<string, Uint8Array>,
  material: Pick<Material, "blob" | "isFolder">,
): string {
  const bytes = material.blob(recorded);
  if (bytes === undefined) return "";
  if (!material.isFolder(recorded)) {
    return ` at ${firstOf(bytes, again.get("") ?? new Uint8Array())}`;
  }
  const manifest = toManifest(new TextDecoder().decode(bytes)) ?? {};
  for (const path of new Set([...Object.keys(manifest), ...again.keys()])) {
    const [was, is] = [manifest[path], again.get(path)];
    if (was === undefined || is === undefined) {
      return ` at ${path}, which is ${was === undefined ? "not recorded" : "not made again"}`;
    }
    const content = material.blob(was.sha256);
    if (content !== undefined && !same(content, is)) return ` at ${path}, ${firstOf(content, is)}`;
  }
  return "";
}

function same(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

/** Where two contents differ: a leaf of JSON, a line of text, or a byte. */
function firstOf(recorded: Uint8Array, again: Uint8Array): string {
  const [a, b] = [textOf(recorded), textOf(again)];
  if (a === undefined || b === undefined) {
    return `byte ${recorded.findIndex((byte, index) => byte !== again[index])}`;
  }
  const [x, y] = [jsonOf(a), jsonOf(b)];
  const [leaf] = x === undefined || y === undefined ? [] : leavesOf(x, y, "");
  if (leaf !== undefined) {
    return `${leaf.at}: recorded ${shown(leaf.recorded)}, again ${shown(leaf.again)}`;
  }
  const [lines, others] = [a.split("\n"), b.split("\n")];
  const line = lines.findIndex((text, index) => text !== others[index]);
  return `line ${line + 1}: recorded ${shown(lines[line])}, again ${shown(others[line])}`;
}

/** A place in which two JSON values differ, `curve.loss[3]`. */
export interface Leaf<T> {
  readonly at: string;
  readonly recorded: T;
  readonly again: T;
}

/** The two numbers that are furthest apart among those in which two texts of JSON differ. */
export function furthest(recorded: Uint8Array, again: Uint8Array): Leaf<number> | undefined {
  const [a, b] = [jsonOf(textOf(recorded)), jsonOf(textOf(again))];
  const numbers = [...leavesOf(a, b, "")].filter((leaf): leaf is Leaf<number> =>
    typeof leaf.recorded === "number" && typeof leaf.again === "number"
  );
  const apart = ({ recorded, again }: Leaf<number>) => Math.abs(recorded - again);
  return numbers.reduce<Leaf<number> | undefined>(
    (most, leaf) => most === undefined || apart(leaf) > apart(most) ? leaf : most,
    undefined,
  );
}

function* leavesOf(a: unknown, b: unknown, path: string): Generator<Leaf<unknown>> {
  if (!isTree(a) || !isTree(b)) {
    if (a !== b) yield { at: path, recorded: a, again: b };
    return;
  }
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const step = Array.isArray(a) ? `[${key}]` : `${path === "" ? "" : "."}${key}`;
    yield* leavesOf(a[key], b[key], path + step);
  }
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function jsonOf(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

const MAX_SHOWN = 80;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

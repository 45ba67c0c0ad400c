/**
 * Files as the user wrote them, with the line of every value, so that a message can point at it.
 *
 * @module
 */
import { extname } from "node:path";
import { parse } from "@std/yaml";
import { ConfigError } from "../errors.ts";
import { canonical, NotJsonError } from "../key/canonical.ts";
import { clip } from "../suggestion.ts";
import { type Format, FormatError, FORMATS } from "./formats.ts";
import { type Lines, linesOf } from "./lines.ts";

/** Keys and list positions from the top of a document to a value. */
export type Path = readonly (string | number)[];

/** A message about what is at a path, with its file and line. */
export type Locate = (path: Path, what: string) => string;

/** A parsed file. */
export interface Document {
  /** Path as shown in messages. */
  readonly name: string;
  readonly text: string;
  readonly value: unknown;
  readonly format: Format;
}

/** Far above what a person writes; to find a line in more takes long. */
const MAX_BYTES = 1 << 19;

/**
 * Reads and parses a file: CSV or Markdown by its name, any other as YAML.
 *
 * @param name Its path in messages.
 * @param unreadable The error to throw if it cannot be read: it may point at where it is named.
 * @throws {ConfigError} If it cannot be read, is not of its format or holds what JSON cannot; the message
 * has the line where there is one.
 */
export function readDocument(
  path: string,
  name: string,
  unreadable = (why: string) => new ConfigError(`Cannot read ${name}: it ${why}`),
): Document {
  const text = readText(path, unreadable);
  const format = FORMATS[extname(name)] ?? YAML;
  let value: unknown;
  try {
    value = format.parse(text);
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    throw new ConfigError(`${name}${error.position}: ${error.message}`, { cause: error });
  }
  const document = { name, text, value, format };
  try {
    canonical(value);
  } catch (error) {
    if (!(error instanceof NotJsonError)) throw error;
    throw new ConfigError(at(document, error.path, error.message), { cause: error });
  }
  const merge = mergeKey(value, []);
  if (merge !== undefined) {
    throw new ConfigError(
      at(
        document,
        merge,
        "YAML 1.2 has no merge keys; write the entries out, each may be an alias",
      ),
    );
  }
  return document;
}

/** Where a key `<<` is, which YAML 1.1 and some editors take for an inclusion. */
function mergeKey(value: unknown, path: Path): Path | undefined {
  if (value === null || typeof value !== "object") return undefined;
  for (const [key, entry] of Object.entries(value)) {
    const found = key === "<<" ? [...path, key] : mergeKey(entry, [...path, key]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readText(path: string, unreadable: (why: string) => ConfigError): string {
  let bytes: Uint8Array;
  try {
    const info = Deno.statSync(path);
    // Opening a named pipe would wait for someone to write to it.
    if (!info.isFile) throw unreadable(`must be a file, found ${kindOf(info)}`);
    bytes = readAtMost(path, MAX_BYTES + 1);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof ConfigError) throw error;
    const missing = error instanceof Deno.errors.NotFound;
    throw unreadable(missing ? "must be a file, found none" : `cannot be read: ${error.message}`);
  }
  if (bytes.length > MAX_BYTES) {
    throw unreadable(`must have at most ${MAX_BYTES} bytes, found more`);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw unreadable("must be UTF-8 text");
  }
}

/** The size that the system gives is no bound: some files have none and go on for ever. */
function readAtMost(path: string, size: number): Uint8Array {
  using file = Deno.openSync(path);
  const bytes = new Uint8Array(size);
  let filled = 0;
  while (filled < size) {
    const read = file.readSync(bytes.subarray(filled));
    if (read === null) break;
    filled += read;
  }
  return bytes.subarray(0, filled);
}

function kindOf(info: Deno.FileInfo): string {
  if (info.isDirectory) return "a folder";
  return info.isFifo ? "a named pipe" : info.isSocket ? "a socket" : "a device";
}

/**
 * Parses YAML 1.2's core types: dates and the like stay text.
 *
 * @throws {FormatError} If it is not YAML.
 */
export function parseYaml(text: string): unknown {
  try {
    return parse(text, { schema: "core" });
  } catch (cause) {
    if (cause instanceof RangeError) {
      throw new FormatError("lists and maps are nested too deeply", "", { cause });
    }
    if (!(cause instanceof SyntaxError)) throw cause;
    const [first = "", ...rest] = cause.message.split("\n");
    const position = /at line (\d+), column (\d+)/.exec(first);
    const what = clip(first.replace(/ at line \d+, column \d+:?/, ""));
    const excerpt = rest.join("\n").trimEnd();
    throw new FormatError(
      `not valid YAML: ${what}${excerpt && `\n${excerpt}`}`,
      position ? `:${position[1]}:${position[2]}` : "",
      { cause },
    );
  }
}

/** The value at a path, or `undefined` where the path ends early. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, step)) {
      return undefined;
    }
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Whether a key is at a path, also one whose value is null. */
export function hasPath(root: unknown, path: Path): boolean {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (last === undefined) return true;
  return parent !== null && typeof parent === "object" && Object.hasOwn(parent, last);
}

const lines = new WeakMap<object, Lines>();

const YAML: Format = {
  parse: parseYaml,
  place(document, path) {
    if (path.length === 0) return { line: undefined, key: path };
    let find = lines.get(document);
    if (find === undefined) lines.set(document, find = linesOf(document.text));
    return { line: find(path), key: path };
  },
};

/** A message about a value in a document: `file:line: key.path: what`. */
export function at(document: Document, path: Path, what: string): string {
  const { name, format } = document;
  const { line, key } = format.place(document, path);
  const place = `${name}${line === undefined ? "" : `:${line}`}`;
  const named = key.length === 0 ? place : `${place}: ${clip(key.join("."))}`;
  return `${named}: ${clip(what, 1000)}`;
}

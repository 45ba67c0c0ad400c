/**
 * YAML files as the user wrote them, with the line of every key, so that a message can point at it.
 *
 * @module
 */
import { parse } from "@std/yaml";
import { closestString, levenshteinDistance } from "@std/text";
import { ConfigError } from "../errors.ts";

/** Keys and list positions from the top of a document to a value. */
export type Path = readonly (string | number)[];

/** A message about what stands at a path, with its file and line. */
export type Locate = (path: Path, what: string) => string;

/** A parsed YAML file. */
export interface Document {
  /** Path as shown in messages. */
  readonly name: string;
  readonly text: string;
  readonly value: unknown;
}

/**
 * Reads and parses a YAML file.
 *
 * @throws {ConfigError} If it cannot be read or is not YAML; the message has the line.
 */
export function readDocument(path: string, name: string): Document {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (cause) {
    const why = cause instanceof Deno.errors.NotFound ? "no such file" : String(cause);
    throw new ConfigError(`Cannot read ${name}: ${why}`, { cause });
  }
  try {
    return { name, text, value: parse(text) };
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const [first = "", ...rest] = cause.message.split("\n");
    const position = /at line (\d+), column (\d+)/.exec(first);
    const where = position ? `${name}:${position[1]}:${position[2]}` : name;
    const what = first.replace(/ at line \d+, column \d+:?/, "");
    const excerpt = rest.join("\n").trimEnd();
    throw new ConfigError(`${where}: not valid YAML: ${what}${excerpt ? `\n${excerpt}` : ""}`, {
      cause,
    });
  }
}

/** The value at a path, or `undefined` where the path ends early. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const step of path) {
    if (value === null || typeof value !== "object") return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return value;
}

/** Whether a key stands at a path, also one whose value is null. */
export function hasPath(root: unknown, path: Path): boolean {
  const parent = valueAt(root, path.slice(0, -1));
  const last = path.at(-1);
  if (last === undefined) return true;
  return parent !== null && typeof parent === "object" && Object.hasOwn(parent, last);
}

/**
 * The line of the key at a path, from 1; its nearest ancestor's where it stands on none of its own.
 *
 * The parser keeps no positions, but the start of a block-style document is a document too: the
 * line sought is the first after which the key is there. Slow, and only run to report an error.
 */
export function lineOf(document: Document, path: Path): number {
  const lines = document.text.split("\n");
  for (let end = path.length; end > 0; end--) {
    const prefix = path.slice(0, end);
    const key = prefix.at(-1);
    if (!hasPath(document.value, prefix)) continue;
    for (let line = 1; line <= lines.length; line++) {
      if (typeof key === "string" && !lines[line - 1]?.includes(key)) continue;
      let start: unknown;
      try {
        start = parse(lines.slice(0, line).join("\n"));
      } catch {
        continue;
      }
      if (hasPath(start, prefix)) return line;
    }
  }
  return 1;
}

/** A message about a value in a document: `file:line: key.path: what`. */
export function at(document: Document, path: Path, what: string): string {
  const where = path.length > 0 ? `${path.join(".")}: ` : "";
  return `${document.name}:${lineOf(document, path)}: ${where}${what}`;
}

/** `; did you mean "x"?` where one of the possible names is near, else nothing. */
export function nearName(given: string, possible: readonly string[]): string {
  if (possible.length === 0) return "";
  const near = closestString(given, possible);
  const isNear = levenshteinDistance(given, near) <= Math.max(2, given.length / 3);
  return isNear ? `; did you mean "${near}"?` : "";
}

/** The near name, else a short list of the possible ones. */
export function suggestion(given: string, possible: readonly string[]): string {
  if (possible.length === 0) return "";
  const shown = possible.slice(0, 12).join(", ");
  return nearName(given, possible) || `; known: ${shown}${possible.length > 12 ? ", …" : ""}`;
}

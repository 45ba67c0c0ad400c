/**
 * Paths that come from stages and from other stores: which of them may be used.
 *
 * @module
 */

import { isPlainPath } from "../files.ts";

/** `a` and `a/b` of `a/b/c`: the folders a path leads through. */
export function parentsOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

/** Where the trace page is below `outputs/`. */
export const TRACE_PAGE = "trace/index.html";
/** Where the facts of the latest runs are, which pages that a run publishes may read. */
export const RUN_FACTS = "trace/runs.js";
/** What names times and machines, and is sealed instead of published. */
export const TRACE_FILES = [TRACE_PAGE, RUN_FACTS] as const;

/** The longest name of a file, in bytes, beside which there is room for a temporary suffix. */
const MAX_NAME_BYTES = 230;

/**
 * Why nothing may be published at a path below `outputs/`; `undefined` if it may. The words go after
 * "it must".
 */
export function publishPathProblem(path: string): string | undefined {
  // deno-lint-ignore no-control-regex
  if (/[\0-\x1f\x7f\\]/.test(path)) return "have no control character and no backslash";
  if (!isPlainPath(path)) return 'be relative, without ".", ".." or an empty part';
  const parts = path.split("/");
  if (parts.some((part) => part.startsWith("."))) return "have no hidden part";
  if (parts[0]!.toLowerCase() === "store") return "not lead into the store";
  const encoder = new TextEncoder();
  if (parts.some((part) => encoder.encode(part).length > MAX_NAME_BYTES)) {
    return `have names of at most ${MAX_NAME_BYTES} bytes`;
  }
  return undefined;
}

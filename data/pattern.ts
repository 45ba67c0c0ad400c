/**
 * Path patterns that give a document's split and class.
 *
 * @module
 */

/** What a path says. */
export interface PathParts {
  readonly split: string | undefined;
  readonly class: string | undefined;
}

/**
 * Compiles a pattern such as `aclImdb/{split}/{class}/*.txt`; `{split}`, `{class}` and `*` match
 * one or more characters other than `/`.
 *
 * @returns A function from a path to what it says, or `undefined` where the pattern does not fit.
 *
 * @example
 * ```ts
 * import { assertEquals } from "@std/assert";
 * const match = documentPattern("{split}/{class}/*.txt");
 * assertEquals(match("train/pos/1_9.txt"), { split: "train", class: "pos" });
 * assertEquals(match("train/pos/readme"), undefined);
 * ```
 */
export function documentPattern(pattern: string): (path: string) => PathParts | undefined {
  const source = pattern.split(/(\{split\}|\{class\}|\*)/).map((part) => {
    if (part === "{split}") return "(?<split>[^/]+)";
    if (part === "{class}") return "(?<class>[^/]+)";
    if (part === "*") return "[^/]+";
    return part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  }).join("");
  const expression = new RegExp(`^${source}$`, "u");
  return (path) => {
    const found = expression.exec(path);
    return found ? { split: found.groups?.split, class: found.groups?.class } : undefined;
  };
}

/**
 * Patterns over instance names.
 *
 * @module
 */
import { suggestion } from "../suggestion.ts";
import { ConfigError } from "../errors.ts";

/**
 * A predicate for names that match any of the patterns. `*` matches any characters within a
 * segment, `**` for any segments; a pattern also takes everything below what it names, so that
 * `train/short` takes `train/short/wide/0`.
 *
 * @throws {ConfigError} If a pattern matches none of the names.
 */
export function matcher(
  patterns: readonly string[],
  names: readonly string[],
  what: string,
): (name: string) => boolean {
  const expressions = patterns.map((pattern) => {
    const source = pattern.replace(/\/$/, "").split("/").map((segment) =>
      segment === "**" ? ".*" : segment.split("*").map(escape).join("[^/]*")
    ).join("/").replaceAll(".*/", "(?:.*/)?");
    const expression = new RegExp(`^${source}(?:/.*)?$`);
    if (!names.some((name) => expression.test(name))) {
      throw new ConfigError(
        `Cannot use ${what} ${pattern}: it matches no instance${suggestion(pattern, names)}`,
      );
    }
    return expression;
  });
  return (name) => expressions.some((expression) => expression.test(name));
}

function escape(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
}

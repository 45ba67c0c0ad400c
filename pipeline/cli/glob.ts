/**
 * Patterns over instance names.
 *
 * @module
 */
import { suggestion } from "../suggestion.ts";
import { ConfigError } from "../errors.ts";
import { expressionOf } from "../pattern.ts";

/**
 * A predicate for names that match any of the patterns, as {@linkcode expressionOf} says.
 *
 * @throws {ConfigError} If a pattern matches none of the names.
 */
export function matcher(
  patterns: readonly string[],
  names: readonly string[],
  what: string,
): (name: string) => boolean {
  const expressions = patterns.map((pattern) => {
    const expression = expressionOf(pattern);
    if (!names.some((name) => expression.test(name))) {
      throw new ConfigError(
        `Cannot use ${what} ${pattern}: it matches no instance${suggestion(pattern, names)}`,
      );
    }
    return expression;
  });
  return (name) => expressions.some((expression) => expression.test(name));
}

/**
 * Which instances of an audit file are to run again, by patterns.
 *
 * @module
 */
import { UsageError } from "../errors.ts";
import { expressionOf } from "../pattern.ts";
import type { VerifyOptions } from "./verify.ts";

/**
 * The instances that patterns name; without any the default.
 *
 * @throws {UsageError} From `onInstances`, if a pattern matches none.
 */
export function chosenBy(
  patterns: readonly string[],
): Pick<VerifyOptions, "again" | "onInstances"> {
  if (patterns.length === 0) return {};
  const wanted = patterns.map(expressionOf);
  return {
    again: (_, name) => wanted.some((one) => one.test(name)),
    onInstances(names) {
      // A file that can't be read has none, and a finding says so.
      if (names.length === 0) return;
      const at = wanted.findIndex((one) => !names.some((name) => one.test(name)));
      if (at < 0) return;
      throw new UsageError(
        `Cannot verify ${patterns[at]}: it matches no instance, e.g. ${names[0]} would`,
      );
    },
  };
}

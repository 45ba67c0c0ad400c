/**
 * Types of the `@std` functions used here. The npm package that republishes `@std` carries none;
 * with the import map switched to JSR the real ones apply and this file can go.
 */
declare module "@std/yaml" {
  export function parse(content: string, options?: { schema?: "core" }): unknown;
  export function stringify(value: unknown, options?: Record<string, unknown>): string;
}

declare module "@std/csv" {
  export function parse(content: string, options?: Record<string, unknown>): string[][];
  export function stringify(
    rows: readonly (readonly unknown[])[],
    options?: { headers?: boolean; columns?: readonly string[]; separator?: string },
  ): string;
}

declare module "@std/cli/parse-args" {
  export function parseArgs(
    args: readonly string[],
    options?: {
      boolean?: readonly string[];
      string?: readonly string[];
      collect?: readonly string[];
      alias?: Record<string, string>;
      default?: Record<string, unknown>;
      stopEarly?: boolean;
      unknown?: (arg: string, key?: string, value?: unknown) => unknown;
    },
  ): { _: (string | number)[]; [name: string]: unknown };
}

declare module "@std/assert" {
  export function assert(condition: unknown, message?: string): asserts condition;
  export function assertAlmostEquals(a: number, b: number, tolerance?: number, m?: string): void;
  export function assertEquals<T>(actual: T, expected: T, message?: string): void;
  export function assertNotEquals<T>(actual: T, expected: T, message?: string): void;
  export function assertMatch(actual: string, expected: RegExp, message?: string): void;
  export function assertStringIncludes(actual: string, expected: string, message?: string): void;
  export function assertThrows<E extends Error = Error>(
    fn: () => unknown,
    // deno-lint-ignore no-explicit-any
    errorClass?: new (...args: any[]) => E,
    messageIncludes?: string,
  ): E;
  export function assertRejects<E extends Error = Error>(
    fn: () => PromiseLike<unknown>,
    // deno-lint-ignore no-explicit-any
    errorClass?: new (...args: any[]) => E,
    messageIncludes?: string,
  ): Promise<E>;
}

declare module "@std/text/closest-string" {
  export function closestString(given: string, possible: readonly string[]): string;
}

declare module "@std/text/levenshtein-distance" {
  export function levenshteinDistance(a: string, b: string): number;
}

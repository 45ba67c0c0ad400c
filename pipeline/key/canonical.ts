/**
 * Canonical JSON: one text for one value, whatever order its keys were written in.
 *
 * @module
 */

/** A value that JSON can hold. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

/**
 * Serialises `value` with keys in code-unit order and no white space. Keys whose value is
 * `undefined` are left out, and −0 is written as 0.
 *
 * @example
 * ```ts
 * import { canonicalJson } from "./canonical.ts";
 * import { assertEquals } from "@std/assert";
 * assertEquals(canonicalJson({ b: 1, a: [true, null] }), '{"a":[true,null],"b":1}');
 * ```
 * @throws {TypeError} If a number is not finite or a value is not JSON.
 */
export function canonicalJson(value: Json): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value);
    case "boolean":
      return value ? "true" : "false";
    case "number":
      if (!Number.isFinite(value)) {
        throw new TypeError(`Cannot serialise ${value}: numbers must be finite`);
      }
      return JSON.stringify(value === 0 ? 0 : value);
    case "object": {
      if (value === null) return "null";
      if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
      const record = value as { readonly [key: string]: Json | undefined };
      const parts: string[] = [];
      for (const key of Object.keys(record).sort()) {
        const entry = record[key];
        if (entry !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(entry)}`);
      }
      return `{${parts.join(",")}}`;
    }
    default:
      throw new TypeError(`Cannot serialise a ${typeof value}: the value must be JSON`);
  }
}

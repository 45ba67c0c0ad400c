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

/** What of a value is not JSON that anyone would write, and where. */
export class NotJsonError extends TypeError {
  override name = "NotJsonError";
  /** Keys and list positions down to it. */
  readonly path: (string | number)[] = [];

  constructor(rule: string, found: string) {
    super(`must ${rule}, found ${found}`);
  }
}

/** Lists and maps within each other. */
const MAX_DEPTH = 100;
/** Values and characters together: an alias of an alias of an alias can mean very many. */
const MAX_SIZE = 1 << 22;

/**
 * A copy of a value with its keys in code-unit order (keys that are whole numbers first: such is
 * the order of every JavaScript object), and no key whose value is `undefined`. Two values with the
 * same {@linkcode canonicalJson} have equal copies down to the order of keys, so whoever is handed
 * the copy sees nothing that the text does not hold.
 *
 * @example
 * ```ts
 * import { canonical } from "./canonical.ts";
 * import { assertEquals } from "@std/assert";
 * assertEquals(Object.keys(canonical({ b: 1, a: 2 }) as object), ["a", "b"]);
 * ```
 * @throws {NotJsonError} If it holds anything that JSON does not, is nested deeper than 100 levels
 * or has more than four million values and characters.
 */
export function canonical(value: unknown): Json {
  return copyOf(value, 0, { size: 0 });
}

function copyOf(value: unknown, depth: number, total: { size: number }): Json {
  count(1, total);
  switch (typeof value) {
    case "boolean":
      return value;
    case "string":
      return text(value, total);
    case "number":
      if (!Number.isFinite(value)) throw new NotJsonError("be a finite number", yamlNumber(value));
      return value === 0 ? 0 : value;
    case "object":
      if (value === null) return null;
      if (depth === MAX_DEPTH) {
        throw new NotJsonError(
          `be nested at most ${MAX_DEPTH} levels deep, never in itself`,
          "more",
        );
      }
      if (Array.isArray(value)) return copyOfList(value, depth, total);
      if (isPlain(value)) return copyOfMap(value, depth, total);
  }
  throw new NotJsonError(
    "be text, a number, true or false, null, a list or a mapping",
    kindOf(value),
  );
}

function copyOfList(list: readonly unknown[], depth: number, total: { size: number }): Json[] {
  count(list.length, total);
  const copy: Json[] = [];
  for (let index = 0; index < list.length; index++) {
    copy.push(below(index, list[index], depth, total));
  }
  return copy;
}

function copyOfMap(
  map: Readonly<Record<string, unknown>>,
  depth: number,
  total: { size: number },
): Json {
  const copy: Record<string, Json> = {};
  for (const key of Object.keys(map).sort()) {
    const entry = map[key];
    if (entry === undefined) continue;
    // Written to an object, it would be no key but the object's prototype.
    if (key === "__proto__") throw new NotJsonError("have names as its keys", '"__proto__"');
    copy[text(key, total)] = below(key, entry, depth, total);
  }
  return copy;
}

function below(
  step: string | number,
  value: unknown,
  depth: number,
  total: { size: number },
): Json {
  try {
    return copyOf(value, depth + 1, total);
  } catch (error) {
    if (error instanceof NotJsonError) error.path.unshift(step);
    throw error;
  }
}

function text(value: string, total: { size: number }): string {
  count(value.length, total);
  if (value.isWellFormed()) return value;
  throw new NotJsonError("be whole characters", "half of a surrogate pair");
}

function count(more: number, total: { size: number }): void {
  total.size += more;
  if (total.size <= MAX_SIZE) return;
  throw new NotJsonError(
    `have at most ${MAX_SIZE} values and characters, aliases written out`,
    "more",
  );
}

/** A number as YAML has it. */
export function yamlNumber(value: number): string {
  if (Number.isNaN(value)) return ".nan";
  return Number.isFinite(value) ? String(value) : value > 0 ? ".inf" : "-.inf";
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (value === null || typeof value !== "object") return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function kindOf(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value !== "object" || value === null) return `a ${typeof value}`;
  const name = String(value.constructor?.name || "Object");
  return `${/^[AEIO]/.test(name) ? "an" : "a"} ${name}`;
}

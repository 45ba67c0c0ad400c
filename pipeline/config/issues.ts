/**
 * Schema violations as sentences: what must hold, what was found, and a near name for a typo.
 *
 * @module
 */
import { z } from "zod";
import { ConfigError } from "../errors.ts";
import { yamlNumber } from "../key/canonical.ts";
import type { Violation } from "../stage.ts";
import { clip, nearest, nearName, suggestion } from "../suggestion.ts";
import { type Path, valueAt } from "./document.ts";

/** All violations of a schema by a value. */
export function violations(schema: z.ZodType, value: unknown, error: z.ZodError): Violation[] {
  return error.issues.flatMap((issue) => describe(schema, value, issue));
}

const MAX_SHOWN = 20;

/**
 * The error that lists violations, each once, though several references or aliases lead there; `place`
 * says where each is.
 */
export function broken<T>(found: readonly T[], place: (violation: T) => string): ConfigError {
  const messages = new Map<string, string>();
  let more = found.length;
  for (const violation of found) {
    if (messages.size === MAX_SHOWN) break;
    const message = place(violation);
    const slip = slipOf(message);
    if (!messages.has(slip)) messages.set(slip, message);
    more--;
  }
  const lines = [...messages.values()];
  return new ConfigError([...lines, ...more > 0 ? [`and ${more} more`] : []].join("\n"));
}

/** What is written wrongly: the line, the key's own name and what is wrong, whichever way leads there. */
function slipOf(message: string): string {
  const [line, path = "", ...what] = message.split("\n  from ")[0]!.split(": ");
  return [line, path.split(".").at(-1), ...what].join(": ");
}

/** Types as people call them. */
const TYPES: Readonly<Record<string, string>> = {
  string: "text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  array: "a list",
  tuple: "a list",
  object: "a mapping",
  record: "a mapping",
  map: "a mapping",
  null: "null",
};

function typeName(expected: string, found?: unknown): string {
  if (typeof found === "number" && !Number.isFinite(found) && expected === "number") {
    return "a finite number";
  }
  return TYPES[expected] ?? `of type ${expected}`;
}

function describe(schema: z.ZodType, value: unknown, issue: z.core.$ZodIssue): Violation[] {
  const path = issue.path.map((step) => typeof step === "symbol" ? String(step) : step);
  const found = valueAt(value, path);
  const shown = found === undefined ? "nothing" : written(found);
  switch (issue.code) {
    case "unrecognized_keys": {
      const known = keysAt(schema, path);
      return issue.keys.map((key) => ({
        path: [...path, key],
        message: `unknown key "${clip(key)}"${suggestion(key, known)}`,
      }));
    }
    case "invalid_key": {
      const rule = issue.issues[0]?.message ?? "must be another name";
      return [{ path, message: `a name here ${rule}, found "${clip(String(path.at(-1)))}"` }];
    }
    case "invalid_type": {
      const near = found === undefined ? misspelt(schema, value, path) : "";
      return [{
        path,
        message: `must be ${typeName(issue.expected, found)}, found ${shown}${near}`,
      }];
    }
    case "invalid_union": {
      if (issue.errors.length === 0) {
        // Of a union that one key decides, what that may be; the library's types lack it.
        const { options = [] } = issue as { options?: readonly unknown[] };
        const known = options.filter((option) => option !== undefined).map(String);
        return [{ path, message: choice(known, found, shown) }];
      }
      const expected: string[] = [];
      for (const [first, ...rest] of issue.errors) {
        // A branch whose type fits is what was meant: what it refuses says more than the types do.
        if (first?.code !== "invalid_type" || first.path.length > 0) {
          return [first!, ...rest].flatMap((inner) =>
            describe(schema, value, { ...inner, path: [...issue.path, ...inner.path] })
          );
        }
        expected.push(typeName(first.expected));
      }
      return [{ path, message: `must be ${expected.join(" or ")}, found ${shown}` }];
    }
    case "invalid_value":
      return [{ path, message: choice(issue.values.map(String), found, shown) }];
    case "too_small":
    case "too_big":
      return [{ path, message: `${bound(issue)}, found ${shown}` }];
  }
  // Where a schema has no sentence of its own, the library's begins with what went wrong.
  const rule = /^Invalid \w+: (must .+)$/.exec(issue.message)?.[1] ??
    issue.message.replace(/^Invalid URL$/, "must be a URL");
  return [{ path, message: `${rule}, found ${shown}` }];
}

function choice(values: readonly string[], found: unknown, shown: string): string {
  const rule = values.length > 1 ? `one of ${values.join(", ")}` : values.join();
  return `must be ${rule}, found ${shown}${
    typeof found === "string" && values.length > 1 ? nearName(found, values) : ""
  }`;
}

function bound(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig): string {
  const least = issue.code === "too_small";
  const limit = Number(least ? issue.minimum : issue.maximum);
  const relation = least
    ? (issue.inclusive ? "at least" : "more than")
    : (issue.inclusive ? "at most" : "less than");
  switch (issue.origin) {
    case "array":
      return `must have ${relation} ${limit} ${limit === 1 ? "entry" : "entries"}`;
    case "string":
      return `must have ${relation} ${limit} ${limit === 1 ? "character" : "characters"}`;
    default:
      return `must be ${relation} ${limit}`;
  }
}

/** A value as YAML has it: JSON knows no numbers that are not finite. */
function written(value: unknown): string {
  return typeof value === "number" ? yamlNumber(value) : clip(JSON.stringify(value));
}

/** Where any key is taken, none is unknown: the key that one which is missing may be written as. */
function misspelt(schema: z.ZodType, value: unknown, path: Path): string {
  const [above, name] = [path.slice(0, -1), String(path.at(-1))];
  const found = objectsAt(schema, above);
  if (!found.some(({ def }) => def.catchall instanceof z.ZodUnknown)) return "";
  const known = keysAt(schema, above);
  const others = Object.keys(valueAt(value, above) ?? {}).filter((key) => !known.includes(key));
  const near = nearest(name, others);
  return near === undefined ? "" : `; "${clip(near)}" is near`;
}

/** The keys an object schema knows at a path; none where it takes any. */
function keysAt(schema: z.ZodType, path: Path): string[] {
  return [...new Set(objectsAt(schema, path).flatMap(({ shape }) => Object.keys(shape)))];
}

/** The schemas that an object at a path may have. */
function objectsAt(schema: z.ZodType, path: Path): z.ZodObject[] {
  const found = inner(schema);
  if (found instanceof z.ZodUnion) {
    return found.options.flatMap((option) => objectsAt(option as z.ZodType, path));
  }
  const [step, ...rest] = path;
  if (step === undefined) return found instanceof z.ZodObject ? [found] : [];
  if (found instanceof z.ZodObject) {
    const own = found.shape[step] as z.ZodType | undefined;
    return own ? objectsAt(own, rest) : [];
  }
  if (found instanceof z.ZodRecord) return objectsAt(found.valueType as z.ZodType, rest);
  return found instanceof z.ZodArray ? objectsAt(found.element as z.ZodType, rest) : [];
}

function inner(schema: z.ZodType): z.ZodType {
  let found: z.ZodType = schema;
  while (
    found instanceof z.ZodOptional || found instanceof z.ZodNullable ||
    found instanceof z.ZodDefault || found instanceof z.ZodPrefault
  ) found = found.unwrap() as z.ZodType;
  return found;
}

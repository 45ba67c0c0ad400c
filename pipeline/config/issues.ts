/**
 * Schema violations as sentences: what must hold, what was found, and a near name for a typo.
 *
 * @module
 */
import { z } from "zod";
import { nearName, type Path, suggestion, valueAt } from "./document.ts";

/** One violation: where, below the validated value, and what. */
export interface Violation {
  readonly path: Path;
  readonly message: string;
}

/** All violations of a schema by a value. */
export function violations(schema: z.ZodType, value: unknown, error: z.ZodError): Violation[] {
  return error.issues.flatMap((issue) => describe(schema, value, issue));
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
        message: `unknown key "${key}"${suggestion(key, known)}`,
      }));
    }
    case "invalid_type":
      if (found === undefined) {
        return [{ path, message: `missing: a value of type ${issue.expected} is required` }];
      }
      return [{ path, message: `must be ${typeName(issue.expected, found)}, found ${shown}` }];
    case "invalid_union": {
      if (issue.errors.length === 0) break;
      const expected: string[] = [];
      for (const [first, ...rest] of issue.errors) {
        // A branch whose type fits is what was meant: what it refuses tells more than the types do.
        if (first?.code !== "invalid_type" || first.path.length > 0) {
          return [first!, ...rest].flatMap((inner) =>
            describe(schema, value, { ...inner, path: [...issue.path, ...inner.path] })
          );
        }
        expected.push(first.expected);
      }
      return [{ path, message: `must be of type ${expected.join(" or ")}, found ${shown}` }];
    }
    case "invalid_value": {
      const values = issue.values.map(String);
      const near = typeof found === "string" && values.length > 1 ? nearName(found, values) : "";
      return [{ path, message: `must be one of ${values.join(", ")}, found ${shown}${near}` }];
    }
    case "too_small":
    case "too_big": {
      const least = issue.code === "too_small";
      const bound = least ? issue.minimum : issue.maximum;
      const relation = least
        ? (issue.inclusive ? "at least" : "more than")
        : (issue.inclusive ? "at most" : "less than");
      if (issue.origin !== "array") {
        return [{ path, message: `must be ${relation} ${bound}, found ${shown}` }];
      }
      const entries = bound === 1 ? "entry" : "entries";
      return [{ path, message: `must have ${relation} ${bound} ${entries}, found ${shown}` }];
    }
  }
  return [{ path, message: `${issue.message}, found ${shown}` }];
}

/** A value as YAML has it: JSON knows no numbers that are not finite. */
function written(value: unknown): string {
  if (typeof value !== "number" || Number.isFinite(value)) return JSON.stringify(value);
  return Number.isNaN(value) ? ".nan" : value > 0 ? ".inf" : "-.inf";
}

function typeName(expected: string, found: unknown): string {
  return typeof found === "number" && !Number.isFinite(found) && expected === "number"
    ? "a finite number"
    : `of type ${expected}`;
}

/** The keys an object schema knows at a path; none where it takes any. */
function keysAt(schema: z.ZodType, path: Path): string[] {
  const found = inner(schema);
  if (found instanceof z.ZodUnion) {
    const keys = found.options.flatMap((option) => keysAt(option as z.ZodType, path));
    return [...new Set(keys)];
  }
  const [step, ...rest] = path;
  if (step === undefined) return found instanceof z.ZodObject ? Object.keys(found.shape) : [];
  if (found instanceof z.ZodObject) {
    const own = found.shape[step] as z.ZodType | undefined;
    return own ? keysAt(own, rest) : [];
  }
  if (found instanceof z.ZodRecord) return keysAt(found.valueType as z.ZodType, rest);
  return found instanceof z.ZodArray ? keysAt(found.element as z.ZodType, rest) : [];
}

function inner(schema: z.ZodType): z.ZodType {
  let found: z.ZodType = schema;
  while (
    found instanceof z.ZodOptional || found instanceof z.ZodNullable ||
    found instanceof z.ZodDefault || found instanceof z.ZodPrefault
  ) found = found.unwrap() as z.ZodType;
  return found;
}

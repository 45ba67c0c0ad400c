/**
 * Schema violations as sentences: what must hold, what was found, and a near name for a typo.
 *
 * @module
 */
import { z } from "zod";
import { type Path, suggestion, valueAt } from "./document.ts";

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
  const shown = found === undefined ? "nothing" : JSON.stringify(found);
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
      return [{ path, message: `must be of type ${issue.expected}, found ${shown}` }];
    case "invalid_value": {
      const values = issue.values.map(String);
      const near = typeof found === "string" && values.length > 1 ? suggestion(found, values) : "";
      return [{ path, message: `must be one of ${values.join(", ")}, found ${shown}${near}` }];
    }
    case "too_small":
    case "too_big": {
      const least = issue.code === "too_small";
      const bound = least ? issue.minimum : issue.maximum;
      const relation = least
        ? (issue.inclusive ? "at least" : "more than")
        : (issue.inclusive ? "at most" : "less than");
      const count = issue.origin === "array" ? " entries" : "";
      return [{ path, message: `must be ${relation} ${bound}${count}, found ${shown}` }];
    }
    default:
      return [{ path, message: `${issue.message}, found ${shown}` }];
  }
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

/**
 * What a value that was read from a file looks like, before anyone relies on it.
 *
 * @module
 */
import { isSha256 } from "../key/hash.ts";

/** A question about a value. */
export type Test = (value: unknown) => boolean;

/** Whether a value is an object with names. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is an object of which each value passes a test. */
export function isRecordOf(value: unknown, test: Test): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && Object.values(value).every(test);
}

/** Whether a value is a text. */
export function isText(value: unknown): boolean {
  return typeof value === "string";
}

/** Whether a value has the form of a digest. */
export function isDigest(value: unknown): boolean {
  return typeof value === "string" && isSha256(value);
}

/** Whether a value is a finite number, not negative. */
export function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

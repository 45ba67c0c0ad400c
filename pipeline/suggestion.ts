/**
 * Names in messages: those near to one that nothing has, and long ones cut.
 *
 * @module
 */
import { closestString } from "@std/text/closest-string";
import { levenshteinDistance } from "@std/text/levenshtein-distance";

/** How many possible names are compared, and how long they may be: a file may hold any number. */
const MAX_NAMES = 1000;
const MAX_LENGTH = 200;

/** The possible name that a given one was probably meant to be. */
export function nearest(given: string, possible: readonly string[]): string | undefined {
  const candidates = possible.slice(0, MAX_NAMES).filter((name) => name.length <= MAX_LENGTH);
  if (candidates.length === 0 || given.length > MAX_LENGTH) return undefined;
  const near = closestString(given, candidates);
  const distance = levenshteinDistance(given, near);
  // Of a very short name, every other of its length is as near.
  const isNear = distance < given.length && distance <= Math.max(2, given.length / 3);
  return isNear ? near : undefined;
}

/** `; did you mean "x"?` where one of the possible names is near, else nothing. */
export function nearName(given: string, possible: readonly string[]): string {
  const near = nearest(given, possible);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

/** The near name, else a short list of the possible ones. */
export function suggestion(given: string, possible: readonly string[]): string {
  if (possible.length === 0) return "";
  const shown = clip(possible.slice(0, 12).join(", "));
  return nearName(given, possible) || `; known: ${shown}${possible.length > 12 ? ", …" : ""}`;
}

/** A text for a message: a name may be as long as a file. */
export function clip(text: string, max = MAX_LENGTH): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

/**
 * Values of ingredients, short enough to be read.
 *
 * @module
 */

/** A value of an ingredient for people: digests shortened. */
export function shorten(value: string | undefined): string {
  if (value === undefined) return "(absent)";
  return /^[0-9a-f]{64}$/.test(value) ? `${value.slice(0, 12)}…` : value;
}

/**
 * Maps whose order is shown. A stage gets its params with sorted keys, so that order has to be a value.
 *
 * @module
 */
import { z } from "zod";

/** A map's entries in the order in which they are written. */
export type Ordered<T> = readonly (readonly [name: string, value: T])[];

/** The schema of a map, whose parsed value is the list of its entries. */
export function ordered<T>(schema: z.ZodType<Record<string, T>>) {
  return schema.transform((map): Ordered<T> => Object.entries(map));
}

/**
 * What a comparison is the weighted sum of.
 *
 * @module
 */
import { type Contrast, spread } from "../study.ts";
import type { At } from "../tidy/table.ts";

/** A condition, or two that are compared, and its weight in the whole. */
export interface Part {
  readonly place: At;
  readonly minus: At | null;
  readonly weight: number;
}

/** A contrast's parts: one for each place that it is averaged over, twice with `than`. */
export function partsOf({ at, against, than = null, over = {} }: Contrast): Part[] {
  const places = spread(over);
  return places.flatMap((over) => {
    const base = { ...at, ...over };
    const bases = than === null ? [base] : [base, { ...base, ...than }];
    return bases.map((place, index) => ({
      place,
      minus: against && { ...place, ...against },
      weight: (index === 0 ? 1 : -1) / places.length,
    }));
  });
}

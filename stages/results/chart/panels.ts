/**
 * One panel for each dataset and encoding, so that a panel's lines are the operators alone.
 *
 * @module
 */
import { datasetTitle, kindLabel } from "../accuracy_table.ts";
import { encodingTitle } from "../order.ts";
import type { Results } from "../results.ts";

/** A panel's title and what it shows. */
export interface Panel<T> {
  readonly title: string;
  readonly members: readonly T[];
}

/** Groups what is of one dataset and encoding, in the results' order; the encoding is named if there are several. */
export function panelsOf<T extends { readonly dataset: string; readonly encoding: string }>(
  results: Results,
  all: readonly T[],
): Panel<T>[] {
  return results.datasets.flatMap((entry) =>
    results.encodings.map((encoding) => ({
      title: [
        datasetTitle(entry, entry.dataset),
        ...results.encodings.length > 1 ? [encodingTitle(encoding)] : [],
        kindLabel(entry),
      ].join(" · "),
      members: all.filter((each) => each.dataset === entry.dataset && each.encoding === encoding),
    }))
  ).filter((panel) => panel.members.length > 0);
}

/**
 * Whether claims name single conditions, once it is known over which axes they were measured.
 *
 * @module
 */
import { StageError } from "../../pipeline/errors.ts";
import type { Claim } from "../spec/claims.ts";
import { metricOf, partsOf, rowsAt, type Study } from "../study.ts";
import type { At, TidyTable } from "../tidy/table.ts";
import { comparisonsOf } from "./expected.ts";

/**
 * Refuses a comparison whose coordinates fit several conditions: means over them would be no one's.
 * Most are found when a run is planned; of models that are timed together a plan knows no axes.
 *
 * @throws {StageError} With the claim, the axis and the values found.
 */
export function refuseAmbiguous(study: Study, claims: readonly Claim[]): void {
  for (const claim of claims) {
    for (const comparison of comparisonsOf(claim)) {
      const table = study.tidy[metricOf(study, comparison.metric).table];
      for (const { place, minus } of partsOf(comparison)) {
        for (const at of minus === null ? [place] : [place, minus]) refuse(at, claim, table);
      }
    }
  }

  function refuse(at: At, { id }: Claim, table: TidyTable | undefined): void {
    for (const axis of table?.axes ?? []) {
      if (axis === study.seeds || axis in at) continue;
      const found = new Set(rowsAt(table, at).map((row) => String(table!.columns[axis]![row])));
      if (found.size < 2) continue;
      throw new StageError(
        `Cannot judge claim "${id}": at must name a value of every axis but ${study.seeds}, found ` +
          `none of "${axis}", which has ${[...found].join(", ")}; name one, or average over them ` +
          "with over",
      );
    }
  }
}

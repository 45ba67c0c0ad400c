/**
 * All tables of an analysis, in display order.
 *
 * @module
 */
import type { JudgedClaim } from "../claims/judged.ts";
import type { Sensitivity } from "../claims/sensitivity.ts";
import type { Finding } from "../results.ts";
import type { Tables } from "../spec/tables.ts";
import type { Study } from "../study.ts";
import { chancesTable, claimsTable, comparisonsTable, findingsTable } from "./claims.ts";
import { listTable } from "./list.ts";
import { paperFigures, paperTables } from "./paper.ts";
import type { Sheet } from "./places.ts";
import { everyPair, everyRun } from "./runs.ts";
import { sensitivityTable } from "./sensitivity.ts";
import { summaryTable } from "./summary.ts";
import type { Table } from "./table.ts";

/**
 * The declared tables, then what can't be forgotten: claims and what they rest on, the paper's own
 * numbers, every run and every pair. A table without rows is left out.
 */
export function tablesOf(study: Study, { tables, claims, sensitivity, findings }: {
  tables: Tables;
  claims: readonly JudgedClaim[];
  sensitivity?: Sensitivity | undefined;
  findings: readonly Finding[];
}): Table[] {
  const sheet: Sheet = { study, choice: sensitivity?.axis, pairs: new Map() };
  const declared = Object.entries(tables).map(([id, spec]) =>
    "list" in spec ? listTable(study, { id, spec }) : summaryTable(sheet, id, spec)
  );
  const all = [
    ...declared,
    ...[claimsTable(sheet, claims), comparisonsTable(sheet, claims), chancesTable(claims)],
    sensitivity === undefined ? null : sensitivityTable(sheet, sensitivity),
    ...[paperFigures(study), paperTables(study), findingsTable(findings)],
    ...everyRun(sheet, tables),
    // Last to be made: the others say which pairs are behind what they show.
    everyPair(sheet),
  ];
  return all.filter((table) => table !== null && table.rows.length > 0) as Table[];
}

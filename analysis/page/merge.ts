/**
 * Several analyses as one: a report may show timings beside what never differs.
 *
 * @module
 */
import { isSyntheticAlone } from "../claims/judged.ts";
import { type Finding, type Results, sourceOf, type Sources } from "../results.ts";
import { axisOf, keyOf, type Study, titleOf } from "../study.ts";
import { type Cell, cellText, type Row, type Table } from "../tables/table.ts";
import type { At } from "../tidy/table.ts";

/** One analysis as the report stage gets it. */
export interface Analysis {
  readonly results: Results;
  readonly sources: Sources;
  /** Digest of its results file. */
  readonly sha256: string;
}

/** A table with the analyses that it is from. */
export interface ShownTable extends Table {
  readonly from: readonly Analysis[];
}

/** What the page shows of all analyses. */
export interface Merged {
  readonly analyses: readonly Analysis[];
  readonly studies: readonly Study[];
  /** By id, in display order: all of them, and as the page shows them. */
  readonly tables: ReadonlyMap<string, ShownTable>;
  readonly shown: ReadonlyMap<string, ShownTable>;
  readonly findings: readonly Finding[];
  /** Claims that no run says anything of, of so many. */
  readonly idle: readonly string[];
  /** Those of them that ran on synthetic data alone. */
  readonly synthetic: readonly string[];
  readonly claims: number;
  /** What axes lack of what was asked for, a sentence each. */
  readonly absent: readonly string[];
  /** Runs that the grids lack besides, as people read them. */
  readonly missing: readonly string[];
}

/** Where the trace of an artifact is. */
export function traceLink(sha256: string): string {
  return `../trace/index.html#${sha256}`;
}

/** All analyses as one. */
export function merge(analyses: readonly Analysis[]): Merged {
  const claims = analyses.flatMap(({ results }) => results.claims);
  const idle = claims.filter(({ verdict }) => verdict === "not run");
  const gaps = analyses.flatMap(({ results: { study, missing } }) =>
    missing.map((at) => [keyOf(at), gapText(study, at)] as const)
  );
  const tables = withAnchorsOnce(mergeTables(analyses));
  return {
    analyses,
    studies: analyses.map(({ results }) => results.study),
    tables,
    shown: withoutClaims(tables, new Set(idle.map(({ id }) => id))),
    findings: unique(analyses.flatMap(({ results }) => results.findings), ({ text }) => text),
    idle: idle.map(({ id }) => id).sort(byName),
    synthetic: idle.filter(({ comparisons }) => comparisons.some(isSyntheticAlone))
      .map(({ id }) => id).sort(byName),
    claims: claims.length,
    absent: absentTexts(analyses),
    missing: [...new Map(gaps).values()],
  };
}

/** A run as people read it, with the axes of bare numbers named: `Rye, Batch 3`. */
function gapText(study: Study, at: At): string {
  const names = new Set([...study.axes.map(({ name }) => name), ...Object.keys(at)]);
  return [...names].filter((name) => name in at).map((name) => {
    const title = titleOf(study, name, at[name]!);
    return /^\d+$/.test(title) ? `${axisOf(study, name)?.title ?? name} ${title}` : title;
  }).join(", ");
}

/** `Seed: 5 of 10 were run, 5 to 9 are missing.`; where analyses differ, of which one it is. */
function absentTexts(analyses: readonly Analysis[]): string[] {
  const found = analyses.flatMap(({ results: { study, absent } }) =>
    absent.map(({ axis, values, of }) => ({
      axis,
      title: study.title,
      text: `${axisOf(study, axis)?.title ?? axis}: ${of - values.length} of ${of} were run, ` +
        `${rangesText(values, (value) => titleOf(study, axis, value))} ` +
        `${values.length === 1 ? "is" : "are"} missing.`,
    }))
  );
  const measured = (axis: string) =>
    analyses.filter(({ results: { study } }) => axisOf(study, axis) !== undefined).length;
  return unique(
    found.map(({ axis, title, text }) => {
      const same = found.filter((each) => each.axis === axis && each.text === text).length;
      return same === measured(axis) ? text : `${title}, ${text}`;
    }),
    (text) => text,
  );
}

/** `1, 5 to 9 and red`: whole numbers that follow each other as a range. */
function rangesText(values: readonly string[], titleOf: (value: string) => string): string {
  const groups: string[][] = [];
  for (const value of values) {
    const last = groups.at(-1)?.at(-1);
    const follows = /^\d+$/.test(value) && last !== undefined && Number(value) === Number(last) + 1;
    if (follows) groups.at(-1)!.push(value);
    else groups.push([value]);
  }
  const texts = groups.flatMap((group) =>
    group.length > 2
      ? [`${titleOf(group[0]!)} to ${titleOf(group.at(-1)!)}`]
      : group.map((value) => titleOf(value))
  );
  return [texts.slice(0, -1).join(", "), texts.at(-1)].filter(Boolean).join(" and ");
}

/** Tables by id. Those of one id and the same columns are one table; others follow each other. */
function mergeTables(analyses: readonly Analysis[]): Map<string, ShownTable> {
  const tables = new Map<string, ShownTable>();
  for (const analysis of analyses) {
    for (const given of analysis.results.tables) {
      const own: ShownTable = { ...traced(given, analysis), from: [analysis] };
      const there = tables.get(given.id);
      const isSame = there !== undefined &&
        JSON.stringify(there.columns) === JSON.stringify(own.columns);
      const id = there === undefined || isSame ? given.id : freeName(given.id, tables);
      tables.set(id, isSame ? joined(there, own) : { ...own, id });
    }
  }
  return tables;
}

/** The tables without claims that were not run: a sentence says so. */
function withoutClaims(
  tables: ReadonlyMap<string, ShownTable>,
  idle: ReadonlySet<string>,
): Map<string, ShownTable> {
  return new Map(
    [...tables].flatMap(([id, table]): [string, ShownTable][] => {
      if (!/^(claims|chances)(_\d+)?$/.test(id)) return [[id, table]];
      const claims = claimsOf(table);
      const rows = table.rows.filter((_, index) => !idle.has(claims[index]!));
      return rows.length === 0 ? [] : [[id, { ...table, rows }]];
    }),
  );
}

/** By row: the claim it is of, named in the first row of a group. */
function claimsOf({ rows }: Table): string[] {
  let claim = "";
  return rows.map(({ cells }) => claim = cellText(cells[0]!) || claim);
}

function freeName(id: string, taken: ReadonlyMap<string, unknown>): string {
  let number = 2;
  while (taken.has(`${id}_${number}`)) number++;
  return `${id}_${number}`;
}

/** Two tables as one: groups of rows in the order of their names, each row once. */
function joined(a: ShownTable, b: ShownTable): ShownTable {
  // Cells alone may be alike: what a group shares is in its first row.
  const whole = ({ name, cells }: Row) => JSON.stringify([name, cells]);
  const seen = new Set(a.rows.map(whole));
  const [first, ...others] = b.rows.filter((row) => !seen.has(whole(row)));
  const all: ShownTable = {
    ...a,
    rows: [...a.rows, ...first === undefined ? [] : [{ ...first, begins: true }], ...others],
    notes: [...new Set([...a.notes ?? [], ...b.notes ?? []])],
    data: sameData(a, b)
      ? { columns: a.data.columns, rows: unique([...a.data.rows, ...b.data.rows], JSON.stringify) }
      : a.data,
    from: [...a.from, ...b.from],
  };
  return SORTED.has(a.id) ? inOrder(all) : all;
}

/** Tables whose rows are of claims, named in the first column of a group. */
const SORTED: ReadonlySet<string> = new Set(["claims", "comparisons", "chances"]);

/** Claims' rows in the order of their ids. */
function inOrder(table: ShownTable): ShownTable {
  const claims = claimsOf(table);
  const sorted = table.rows.map((row, index) => ({ row, id: claims[index]! }))
    .toSorted((a, b) => byName(a.id, b.id));
  return {
    ...table,
    rows: sorted.map(({ row, id }, index) => ({
      ...row,
      begins: table.id !== "claims" && sorted[index - 1]?.id !== id,
    })),
  };
}

function sameData(a: Table, b: Table): boolean {
  return JSON.stringify(a.data.columns) === JSON.stringify(b.data.columns);
}

/** `A2` before `A10`, whatever the machine's language. */
const { compare: byName } = new Intl.Collator("en", { numeric: true });

function unique<T>(values: readonly T[], keyOf: (value: T) => string): T[] {
  return [...new Map(values.map((value) => [keyOf(value), value])).values()];
}

/** A table whose cells lead to traces where they led to tidy rows. */
function traced(table: Table, { sources }: Analysis): Table {
  const resolved = (cell: Cell): Cell => {
    if (typeof cell === "string" || !cell.to.startsWith("row:")) return cell;
    const [name = "", row, ...column] = cell.to.slice("row:".length).split("/");
    const sha256 = sourceOf(sources, { table: name, row: Number(row), column: column.join("/") });
    return sha256 === undefined ? cell.text : { text: cell.text, to: traceLink(sha256) };
  };
  const rows = table.rows.map((row) => ({ ...row, cells: row.cells.map(resolved) }));
  return { ...table, rows };
}

/** The tables with each anchor once: of two that mean the same runs, the first. */
function withAnchorsOnce(tables: ReadonlyMap<string, ShownTable>): Map<string, ShownTable> {
  const seen = new Set(tables.keys());
  const once = (row: Row): Row => {
    const { anchor, ...rest } = row;
    if (anchor === undefined || seen.has(anchor)) return rest;
    seen.add(anchor);
    return row;
  };
  return new Map([...tables].map(([id, table]) => [id, { ...table, rows: table.rows.map(once) }]));
}

/**
 * From measurement files and the coordinates of the instances that wrote them to tidy tables.
 *
 * @module
 */
import { StageError } from "../../pipeline/errors.ts";
import type { Artifact } from "../../pipeline/stage.ts";
import type { SourceRows, Sources } from "../results.ts";
import { keyOf } from "../study.ts";
import { readMeasurements } from "./measurements.ts";
import { axesInOrder, comparePlaces, describedValues, type Order } from "./order.ts";
import type { At, TidyTable, Value } from "./table.ts";

/** A measurement file. */
export type Measured = Pick<Artifact, "at" | "sha256" | "path">;

/** Tables by name, and the artifacts behind their rows. */
export interface Gathered {
  readonly tidy: Readonly<Record<string, TidyTable>>;
  readonly sources: Sources["tables"];
}

/** The rows at one place, and what each group of columns was read from. */
interface Piece {
  readonly at: At;
  readonly rows: readonly Readonly<Record<string, Value>>[];
  /** Columns that are no coordinates. */
  readonly columns: readonly string[];
  readonly sources: SourceRows["artifacts"];
}

/**
 * Joins measurement files to one table for each name.
 *
 * A row's coordinates are those of its artifact and, if several models were measured together, columns
 * of texts named like an axis. Where a column is named like an axis of its artifact, the coordinate is
 * kept: it is what was asked for. Files of one row join where their coordinates agree. Rows come in
 * display order of their coordinates; those of a series keep theirs.
 *
 * @throws {StageError} If a value is measured twice at the same coordinates, or files of a table differ
 *   in their axes.
 */
export function gather(artifacts: readonly Measured[], order: Order): Gathered {
  const names = new Set([
    ...order.axes.map(([name]) => name),
    ...artifacts.flatMap(({ at }) => Object.keys(at)),
  ]);
  const pieces = new Map<string, Piece[]>();
  for (const artifact of artifacts) {
    const what = `the measurements of ${placeName(artifact.at)}`;
    const tables = readMeasurements(artifact.path, what);
    for (const [table, columns] of Object.entries(tables)) {
      const found = piecesOf(columns, { artifact, axes: names });
      pieces.set(table, [...pieces.get(table) ?? [], ...found]);
    }
  }
  const tables = [...pieces].sort(([a], [b]) => a < b ? -1 : 1)
    .map(([table, own]) => [table, tableOf(table, own, order)] as const);
  return {
    tidy: Object.fromEntries(tables.map(([name, { tidy }]) => [name, tidy])),
    sources: Object.fromEntries(tables.map(([name, { sources }]) => [name, sources])),
  };
}

/** A file's part of a table, by coordinates. */
function piecesOf(
  columns: Readonly<Record<string, readonly Value[]>>,
  { artifact: { at, sha256 }, axes }: { artifact: Measured; axes: ReadonlySet<string> },
): Piece[] {
  const isText = (name: string) => columns[name]!.every((value) => typeof value === "string");
  const coordinates = Object.keys(columns).filter((name) =>
    axes.has(name) && !(name in at) && isText(name)
  );
  const measured = Object.keys(columns).filter((name) =>
    !(name in at) && !coordinates.includes(name)
  );
  const length = Object.values(columns)[0]?.length ?? 0;
  const rows = Array.from({ length }, (_, row) => ({
    at: {
      ...at,
      ...Object.fromEntries(coordinates.map((name) => [name, String(columns[name]![row])])),
    },
    values: Object.fromEntries(measured.map((name) => [name, columns[name]![row]!])),
  }));
  return [...Map.groupBy(rows, (row) => keyOf(row.at)).values()].map((group) => ({
    at: group[0]!.at,
    rows: group.map((row) => row.values),
    columns: measured,
    sources: [{ columns: measured, sha256 }],
  }));
}

function tableOf(
  name: string,
  pieces: readonly Piece[],
  order: Order,
): { tidy: TidyTable; sources: Sources["tables"][string] } {
  const [first] = pieces;
  if (first === undefined) {
    return { tidy: { name, axes: [], columns: {}, length: 0 }, sources: [] };
  }
  const axes = axesInOrder(Object.keys(first.at), order);
  for (const { at } of pieces) {
    if (keyOf(blank(at)) === keyOf(blank(first.at))) continue;
    throw new StageError(
      `Cannot gather table "${name}": all that measure it must vary over the same axes, found ` +
        `${placeName(first.at)} and ${placeName(at)}; give the stages that feed it the same ` +
        '"each", or aggregate them apart',
    );
  }
  const compare = comparePlaces(axes, (axis) => describedValues(order, axis));
  const joined = [...Map.groupBy(pieces, ({ at }) => keyOf(at)).values()]
    .map((own) => own.reduce((a, b) => join(name, a, b)))
    .sort((a, b) => compare(a.at, b.at));
  const columns = [...new Set(joined.flatMap((piece) => piece.columns))];
  const rows = joined.flatMap((piece) => piece.rows.map((values) => ({ piece, values })));
  return {
    tidy: {
      name,
      axes,
      columns: Object.fromEntries([
        ...axes.map((axis) => [axis, rows.map(({ piece }) => piece.at[axis]!)] as const),
        ...columns.map((column) =>
          [column, rows.map(({ values }) => values[column] ?? null)] as const
        ),
      ]),
      length: rows.length,
    },
    sources: joined.map((piece) => ({ rows: piece.rows.length, artifacts: piece.sources })),
  };
}

/** Two pieces at the same coordinates as one. */
function join(table: string, a: Piece, b: Piece): Piece {
  const twice = a.columns.find((column) => b.columns.includes(column));
  const long = [a, b].find(({ rows }) => rows.length > 1);
  if (twice !== undefined || long !== undefined) {
    throw new StageError(
      `Cannot gather table "${table}": ` +
        (twice !== undefined
          ? `each of its columns must be measured once for ${
            placeName(a.at)
          }, found "${twice}" twice`
          : `only single rows join, found ${long!.rows.length} rows and others for ${
            placeName(a.at)
          }`) +
        "; give one of the stages' inputs to this aggregate, or aggregate them apart",
    );
  }
  return {
    at: a.at,
    rows: [{ ...a.rows[0], ...b.rows[0] }],
    columns: [...a.columns, ...b.columns],
    sources: [...a.sources, ...b.sources],
  };
}

function blank(at: At): At {
  return Object.fromEntries(Object.keys(at).map((axis) => [axis, ""]));
}

function placeName(at: At): string {
  const text = Object.entries(at).sort(([a], [b]) => a < b ? -1 : 1)
    .map(([axis, value]) => `${axis} ${value}`).join(", ");
  return text || "no coordinates";
}

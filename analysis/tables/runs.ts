/**
 * What means rest on: every run, and every pair of runs under one seed.
 *
 * @module
 */
import type { Metric } from "../spec/axes.ts";
import type { ListTable, SummaryTable, Tables } from "../spec/tables.ts";
import { median } from "../statistics/sample.ts";
import {
  atOf,
  axisOf,
  type Change,
  changesOf,
  type Contrast,
  metricOf,
  shownChange,
  type Study,
} from "../study.ts";
import type { TidyTable } from "../tidy/table.ts";
import { changeUnit, formatsOf, withUnit } from "./format.ts";
import { listTable } from "./list.ts";
import {
  conditionAxes,
  differenceText,
  everyId,
  notesOn,
  runsAnchor,
  type Sheet,
  whereText,
} from "./places.ts";
import { summaryTable } from "./summary.ts";
import { type Cell, numbers, type Table } from "./table.ts";

/** Every run of each tidy table that metrics are read from. */
export function everyRun(sheet: Sheet, specs: Tables): Table[] {
  const names = new Set(Object.values(sheet.study.metrics).map(({ table }) => table));
  return [...names].flatMap((name) => {
    const table = sheet.study.tidy[name];
    const every = table === undefined ? null : everyOf(sheet, table, specs);
    return every === null ? [] : [every];
  });
}

function everyOf(sheet: Sheet, table: TidyTable, specs: Tables): Table | null {
  const { study } = sheet;
  const metrics = Object.entries(study.metrics).filter(([name, metric]) =>
    metric.table === table.name && table.columns[metric.column ?? name] !== undefined
  );
  const axes = [...conditionAxes(study, table), study.seeds]
    .filter((axis) => table.axes.includes(axis));
  const runs = new Set(
    Array.from(
      { length: table.length },
      (_, row) => JSON.stringify(Object.values(atOf(table, row, axes))),
    ),
  );
  const caption = table.name === "runs"
    ? "Every run"
    : `Every run: ${metrics.map(([, { title }]) => title.toLowerCase()).join(", ")}`;
  if (runs.size < table.length) return everyMedian(sheet, { table, metrics, axes, caption });
  const shown = metrics.map(([name, metric]) => ({
    ...{ column: metric.column ?? name, title: metric.title, unit: metric.unit },
    ...{ scale: metric.scale, digits: metric.digits },
  }));
  const known = new Set([...axes, ...shown.map(({ column }) => column)]);
  const further = listedColumns(specs, table).filter(({ column }) => !known.has(column));
  const spec: ListTable = {
    ...{ list: table.name, where: {}, caption },
    notes: ["Numbers lead to the trace of what measured them."],
    columns: [
      ...axes.map((column) => ({ column, scale: 1, unit: "" })),
      ...shown,
      ...further,
    ],
  };
  const conditions = conditionAxes(study, table);
  return listTable(study, {
    ...{ id: everyId(table.name), spec },
    anchor: (row) => runsAnchor(study, table.name, atOf(table, row, conditions)),
  });
}

/** Columns that declared tables show of a tidy table, each once. */
function listedColumns(specs: Tables, table: TidyTable): ListTable["columns"] {
  const all: ListTable["columns"] = Object.values(specs).flatMap((spec) => {
    if ("list" in spec) return spec.list === table.name ? spec.columns : [];
    return spec.table !== table.name
      ? []
      : spec.columns.flatMap(({ column, title, digits }) =>
        column === undefined ? [] : [{
          ...{ column, scale: 1, unit: "" },
          ...title === undefined ? {} : { title },
          ...digits === undefined ? {} : { digits },
        }]
      );
  });
  return [...new Map(all.map((each) => [each.column, each])).values()];
}

/** Where a run has several rows, such as rounds of timing: how many, their median, min and max. */
function everyMedian(sheet: Sheet, { table, metrics, axes, caption }: {
  table: TidyTable;
  metrics: readonly (readonly [string, Metric])[];
  axes: string[];
  caption: string;
}): Table | null {
  const shared = { over: [], table: table.name };
  const spec: SummaryTable = {
    ...{ caption, table: table.name, rows: axes, where: {} },
    notes: ["Medians lead to the trace of what measured them."],
    columns: [
      { show: "n", title: "Rows", ...shared },
      ...metrics.flatMap(([metric, { title, unit }]) => [
        { ...shared, metric, show: "mean" as const, title: withUnit(`${title}: median`, unit) },
        { ...shared, metric, show: "min_max" as const, title: `${title}: min/max` },
      ]),
    ],
  };
  return summaryTable(sheet, everyId(table.name), spec);
}

/** Every pair of runs behind a change that a table or a claim shows. */
export function everyPair({ study, pairs }: Sheet): Table | null {
  const contrasts = [...pairs];
  const several = new Set(contrasts.map(([, { metric }]) => metric)).size > 1;
  const axes = study.axes.map(({ name }) => name)
    .filter((axis) => contrasts.some(([, { at }]) => at[axis] !== undefined));
  const from = axes.filter((axis) => contrasts.some(([, { against }]) => against?.[axis]));
  const rows: Cell[][] = [];
  const names: string[][] = [];
  const data: (string | number | null)[][] = [];
  const anchors: [number, string][] = [];
  for (const [anchor, contrast] of contrasts) {
    const { metric: name, at } = contrast;
    const against = contrast.against!;
    anchors.push([rows.length, anchor]);
    for (const change of changesOf(study, contrast)) {
      const pair = pairOf(study, contrast, change);
      const same = Object.entries(at).filter(([axis]) => against[axis] === undefined);
      rows.push([
        ...several ? [metricOf(study, name).title] : [],
        whereText(study, Object.fromEntries(same)),
        differenceText(study, at, against),
        ...[change.seed, ...pair.cells],
      ]);
      const place = axes.map((axis) => at[axis] ?? null);
      names.push([name, ...Object.values(at), "from", ...Object.values(against), change.seed]);
      data.push([
        ...[name, ...place, ...from.map((axis) => against[axis] ?? at[axis] ?? null)],
        ...[change.seed, ...pair.values],
      ]);
    }
  }
  const metrics = [...new Set(contrasts.map(([, { metric }]) => metric))]
    .map((name) => metricOf(study, name));
  const unit = metrics.length === 1 ? metrics[0]! : null;
  return rows.length === 0 ? null : {
    id: "every_pair",
    caption: "Every pair of runs under one seed, the second subtracted",
    columns: [
      ...several ? [{ title: "Metric" }] : [],
      ...[{ title: "Where" }, { title: "Difference" }],
      { title: axisOf(study, study.seeds)?.title ?? "Seed", align: "right" },
      numbers(withUnit("First", unit?.unit ?? ""), "first"),
      numbers(withUnit("Second", unit?.unit ?? ""), "second"),
      numbers(withUnit("Change", unit === null ? "" : changeUnit(unit)), "change"),
    ],
    ...{ rows, names, anchors },
    notes: notesOn(study, { places: contrasts.map(([, { at }]) => at), metrics }),
    data: {
      columns: [
        ...["metric", ...axes, ...from.map((axis) => `against_${axis}`)],
        ...[study.seeds, "first", "second", "change"],
      ],
      rows: data,
    },
  };
}

/** A pair's two values, medians where a run has several rows, and their change. */
function pairOf(study: Study, { metric: name }: Contrast, change: Change): {
  cells: Cell[];
  values: number[];
} {
  const metric = metricOf(study, name);
  const column = metric.column ?? name;
  const { value, change: signedText } = formatsOf(metric);
  const all = study.tidy[metric.table]!.columns[column]!;
  const sides = [0, 1].map((side) => change.rows.filter((_, index) => index % 2 === side));
  const values = sides.map((rows) => median(rows.map((row) => all[row] as number)) * metric.scale);
  const shown = shownChange(metric, change.value);
  return {
    cells: [
      ...values.map((each, side) => ({
        text: value(each),
        to: `row:${metric.table}/${sides[side]![0]!}/${column}`,
      })),
      signedText(shown),
    ],
    values: [...values, shown],
  };
}

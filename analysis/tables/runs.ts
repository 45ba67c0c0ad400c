/**
 * What means rest on: every run, and every pair of runs under one seed.
 *
 * @module
 */
import type { Metric } from "../spec/axes.ts";
import type { ListTable, Tables } from "../spec/tables.ts";
import { median } from "../statistics/sample.ts";
import {
  atOf,
  axisOf,
  type Change,
  changesOf,
  keyOf,
  metricOf,
  shownChange,
  type Study,
} from "../study.ts";
import type { At, TidyTable } from "../tidy/table.ts";
import { changeUnit, decimal, signed, withUnit } from "./format.ts";
import { type ListColumn, listTable } from "./list.ts";
import { differences, figures, type Making, only, tableOf, words } from "./making.ts";
import { conditionAxes, everyId, notesOn, runsAnchor, type Sheet } from "./places.ts";
import { linked, type Table } from "./table.ts";

/** Every run of each tidy table that metrics are read from. */
export function everyRun({ study }: Sheet, specs: Tables): Table[] {
  const names = new Set(Object.values(study.metrics).map(({ table }) => table));
  return [...names].flatMap((name) => {
    const table = study.tidy[name];
    return (table && everyOf(study, table, specs)) ?? [];
  });
}

/** A row for each run; where it has several, such as rounds of timing, their median, min and max. */
function everyOf(study: Study, table: TidyTable, specs: Tables): Table | null {
  const metrics = Object.entries(study.metrics).flatMap(([name, metric]) => {
    const column = metric.column ?? name;
    const isHere = metric.table === table.name && table.columns[column] !== undefined;
    return isHere ? [{ ...metric, column }] : [];
  });
  const conditions = conditionAxes(study, table);
  const axes = [...conditions, study.seeds].filter((axis) => table.axes.includes(axis));
  const rows = Array.from({ length: table.length }, (_, row) => row);
  const groups = [...Map.groupBy(rows, (row) => keyOf(atOf(table, row, axes))).values()];
  const known = new Set([...axes, ...metrics.map(({ column }) => column)]);
  const own = ({ column, title, unit, scale, digits }: typeof metrics[number]) => ({
    ...{ column, title, unit, scale, digits },
  });
  const columns = groups.length < table.length
    ? [
      ...metrics.slice(0, 1).map((metric) => rowsColumn(metric)),
      ...metrics.flatMap((metric) => spreadColumns(own(metric))),
    ]
    : [
      ...metrics.map(own),
      ...listedColumns(specs, table).filter(({ column }) => !known.has(column)),
    ];
  const titles = [...new Set(metrics.map(({ title }) => title.toLowerCase()))].join(", ");
  return listTable(study, {
    id: everyId(table.name),
    spec: {
      ...{ list: table.name, where: {} },
      caption: table.name === "runs" ? "Every run" : `Every run: ${titles}`,
      notes: ["Numbers lead to the trace of what measured them."],
      columns: [...axes.map((column) => ({ column, scale: 1, unit: "" })), ...columns],
    },
    groups,
    anchor: (row) => runsAnchor(study, table.name, atOf(table, row, conditions)),
    timed: metrics.some(({ timed }) => timed === true),
  });
}

function rowsColumn({ column }: { readonly column: string }): ListColumn {
  return { column, name: "rows", title: "Rows", scale: 1, unit: "", of: (_, rows) => rows };
}

function spreadColumns(metric: ListColumn & { readonly title: string }): ListColumn[] {
  const { column, title } = metric;
  const end = (name: string, of: (...values: number[]) => number): ListColumn => ({
    ...metric,
    name: `${column}_${name.toLowerCase()}`,
    title: name,
    of: (values) => values.reduce((a, b) => of(a, b)),
  });
  return [{ ...metric, title: `${title}: median` }, end("Min", Math.min), end("Max", Math.max)];
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

/** Every pair of runs behind a change that a table or a claim shows. */
export function everyPair({ study, pairs }: Sheet): Table {
  const rows = [...pairs].flatMap(([anchor, { metric, at, against }]) =>
    changesOf(study, { metric, at, against }).map((change): Pair => ({
      ...{ anchor, metric, at, against: against!, seed: change.seed },
      ...pairOf(study, metric, change),
    }))
  );
  const metrics = [...new Set(rows.map(({ metric }) => metric))]
    .map((name) => metricOf(study, name));
  return tableOf<Pair>(rows, [
    metrics.length > 1
      ? words(
        "Metric",
        "metric",
        ({ metric }) => metric,
        ({ metric }) => metricOf(study, metric).title,
      )
      : only("metric", ({ metric }) => metric),
    ...differences(study, rows),
    words(axisOf(study, study.seeds)?.title ?? "Seed", study.seeds, ({ seed }) => seed),
    ...valueColumns(metrics),
  ], {
    id: "every_pair",
    caption: "Every pair of runs under one seed, the second subtracted",
    named: ({ metric, at, against, seed }) => [
      ...[metric, ...Object.values(at), "from", ...Object.values(against), seed],
    ],
    anchor: ({ anchor }) => anchor,
    notes: [
      ...metrics.some(({ within }) => within !== undefined)
        ? [
          "Of a run with several rows its median is shown; a change is the median of those within " +
          "a round, not that of the two medians.",
        ]
        : [],
      ...notesOn(study, {
        places: rows.map(({ at }) => at),
        timed: metrics.some(({ timed }) => timed === true),
      }),
    ],
  });
}

/** Two runs under one seed. */
interface Pair extends ReturnType<typeof pairOf> {
  readonly anchor: string;
  readonly metric: string;
  readonly at: At;
  readonly against: At;
  readonly seed: string;
}

/** Both values and their change, with the unit in the head where all have the same. */
function valueColumns(metrics: readonly Metric[]): Making<Pair>[] {
  const [single, ...others] = metrics;
  const unit = others.length === 0 ? single?.unit ?? "" : "";
  const changes = others.length === 0 && single !== undefined ? changeUnit(single) : "";
  const side = (title: string, index: 0 | 1): Making<Pair> =>
    figures(
      withUnit(title, unit),
      title.toLowerCase(),
      ({ values }) => values[index],
      (value, { links, digits }) => linked(decimal(value, digits), links[index]),
    );
  return [
    ...[side("First", 0), side("Second", 1)],
    figures(
      withUnit("Change", changes),
      "change",
      ({ change }) => change,
      (change, { digits }) => signed(change, digits),
    ),
  ];
}

/** A pair's two values, medians where a run has several rows, and their change. */
function pairOf(study: Study, name: string, { plus, minus, value }: Change) {
  const metric = metricOf(study, name);
  const column = metric.column ?? name;
  const all = study.tidy[metric.table]!.columns[column]!;
  const sides = [plus, minus];
  const [first, second] = sides.map((own) =>
    median(own.map((row) => all[row] as number)) * metric.scale
  );
  const [to, from] = sides.map((own) => `row:${metric.table}/${own[0]!}/${column}`);
  return {
    values: [first!, second!] as const,
    links: [to!, from!] as const,
    change: shownChange(metric, value),
    digits: metric.digits,
  };
}

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
import type { At, Columns, TidyTable } from "../tidy/table.ts";
import { changeUnit, formatsOf, withUnit } from "./format.ts";
import { listTable } from "./list.ts";
import { differences, figures, type Making, only, tableOf, words } from "./making.ts";
import { conditionAxes, everyId, notesOn, runsAnchor, type Sheet } from "./places.ts";
import { linked, type Table } from "./table.ts";

/** Every run of each tidy table that metrics are read from. */
export function everyRun(sheet: Sheet, specs: Tables): Table[] {
  const names = new Set(Object.values(sheet.study.metrics).map(({ table }) => table));
  return [...names].flatMap((name) => {
    const table = sheet.study.tidy[name];
    const every = table === undefined ? null : everyOf(sheet, table, specs);
    return every === null ? [] : [every];
  });
}

function everyOf({ study }: Sheet, table: TidyTable, specs: Tables): Table | null {
  const metrics = Object.entries(study.metrics).filter(([name, metric]) =>
    metric.table === table.name && table.columns[metric.column ?? name] !== undefined
  );
  const conditions = conditionAxes(study, table);
  const axes = [...conditions, study.seeds].filter((axis) => table.axes.includes(axis));
  const rows = Array.from({ length: table.length }, (_, row) => row);
  const groups = [...Map.groupBy(rows, (row) => keyOf(atOf(table, row, axes))).values()];
  const known = new Set([...axes, ...metrics.map(([name, metric]) => metric.column ?? name)]);
  const made = groups.length < table.length
    ? everyMedian(study, { table, metrics, axes, groups })
    : {
      study,
      columns: [
        ...metrics.map(([name, metric]) => ({
          ...{ column: metric.column ?? name, title: metric.title, unit: metric.unit },
          ...{ scale: metric.scale, digits: metric.digits },
        })),
        ...listedColumns(specs, table).filter(({ column }) => !known.has(column)),
      ],
    };
  const titles = [...new Set(metrics.map(([, { title }]) => title.toLowerCase()))].join(", ");
  const of = made.study.tidy[table.name]!;
  return listTable(made.study, {
    id: everyId(table.name),
    spec: {
      ...{ list: table.name, where: {} },
      caption: table.name === "runs" ? "Every run" : `Every run: ${titles}`,
      notes: ["Numbers lead to the trace of what measured them."],
      columns: [...axes.map((column) => ({ column, scale: 1, unit: "" })), ...made.columns],
    },
    anchor: (row) => runsAnchor(study, table.name, atOf(of, row, conditions)),
    rowOf: (row, column) => table.columns[column] === undefined ? undefined : groups[row]![0],
    timed: metrics.some(([, { timed }]) => timed === true),
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
function everyMedian(study: Study, { table, metrics, axes, groups }: {
  table: TidyTable;
  metrics: readonly (readonly [string, Metric])[];
  axes: readonly string[];
  groups: readonly (readonly number[])[];
}): { readonly study: Study; readonly columns: ListTable["columns"] } {
  const each = (name: string, of: (values: number[]) => number) =>
    groups.map((rows) => {
      const values = rows.map((row) => table.columns[name]![row]).filter((value) =>
        typeof value === "number"
      );
      return values.length === 0 ? null : of(values);
    });
  const own = metrics.map(([name, metric]) => ({ name: metric.column ?? name, metric }));
  const made: Record<string, Columns[string]> = { rows: groups.map((rows) => rows.length) };
  for (const { name } of own) {
    made[name] = each(name, median);
    made[`${name}_min`] = each(name, (values) => values.reduce((a, b) => Math.min(a, b)));
    made[`${name}_max`] = each(name, (values) => values.reduce((a, b) => Math.max(a, b)));
  }
  for (const axis of axes) made[axis] = groups.map(([row]) => table.columns[axis]![row!]!);
  const column = (name: string, title: string, { unit, scale, digits }: Metric) => ({
    ...{ column: name, title, unit, scale, digits },
  });
  return {
    study: {
      ...study,
      tidy: {
        ...study.tidy,
        [table.name]: { ...table, axes, columns: made, length: groups.length },
      },
    },
    columns: [
      { column: "rows", title: "Rows", scale: 1, unit: "" },
      ...own.flatMap(({ name, metric }) => [
        column(name, `${metric.title}: median`, metric),
        column(`${name}_min`, "Min", metric),
        column(`${name}_max`, "Max", metric),
      ]),
    ],
  };
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
    anchors: rows.flatMap(({ anchor }, index): [number, string][] =>
      rows[index - 1]?.anchor === anchor ? [] : [[index, anchor]]
    ),
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
      (value, { links, format }) => linked(format.value(value), links[index]),
    );
  return [
    ...[side("First", 0), side("Second", 1)],
    figures(
      withUnit("Change", changes),
      "change",
      ({ change }) => change,
      (change, { format }) => format.change(change),
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
    format: formatsOf(metric),
  };
}

/**
 * What the template `curves` shows: columns of a tidy table over another of its columns.
 *
 * @module
 */
import type { Curves } from "../spec/figures.ts";
import { sum } from "../statistics/sample.ts";
import { keyOf, rowsAt, shortOf, type Study } from "../study.ts";
import { counted, decimal, signed } from "../tables/format.ts";
import type { At } from "../tidy/table.ts";
import { type CurvesPanel, curvesSpec, type Point, type Series } from "./curves_chart.ts";
import { labelAxes, labelOf, ordered, panelsOf, pick, withOthers } from "./panels.ts";
import { type Chart, emptyChart } from "./theme.ts";

/** Longer lines are drawn as means over this many stretches of equal length. */
const STRETCHES = 128;

/** One seed's line, of one of its heads or whatever else tells lines apart. */
interface Line {
  readonly at: At;
  /** By x. */
  readonly points: ReadonlyMap<number, number>;
}

type Y = Curves["y"][number];

/** A panel for each place and column: means over seeds, around them seeds or a band. */
export function curves(study: Study, { name, spec }: { name: string; spec: Curves }): Chart {
  const byColumn = spec.y.map((y) => ({ y, lines: linesOf(study, spec, y) }));
  const all = byColumn.flatMap(({ lines }) => lines);
  if (all.length === 0) return emptyChart({ name, title: spec.title }, spec.width);
  // What differences are from has its look too: a series looks alike in both figures.
  const whole = spec.y.flatMap((y) => linesOf(study, { ...spec, against: undefined }, y));
  const series = withOthers(whole, spec.series, [...spec.panels, ...spec.lines, study.seeds]);
  const named = labelAxes(whole, series);
  const label = ({ at }: Line) => labelOf(study, at, named, shortOf);
  const looks = [...new Set(ordered(study, whole, series).map(label))];
  const drawn = new Set(all.map(label));
  const labels = looks.filter((each) => drawn.has(each));
  const long = all.some(({ points }) => points.size > STRETCHES);
  const grid = byColumn.map(({ y, lines }) =>
    panelsOf(study, lines, { axes: spec.panels, where: spec.where, name: shortOf }).map((
      { at, title, members },
    ) => ({
      title,
      // Panels that differ in what follows the first axis are of one thing, and are compared.
      group: spec.panels.length > 1 ? at[spec.panels[0]!] ?? "" : title,
      axis: axisOf(study, spec, y),
      domain: y.domain,
      digits: y.digits,
      x: spec.x.title,
      series: labels.flatMap((each) => {
        const own = members.filter((line) => label(line) === each);
        return own.length === 0 ? [] : [seriesOf(own, { study, spec, label: each })];
      }),
    }))
  );
  return {
    name,
    title: spec.title,
    description: grid.flat().map((panel) => describe(panel, spec)).join(" "),
    spec: curvesSpec(grid, {
      title: spec.title,
      subtitle: subtitleOf(study, spec, { all, long }),
      ...{ labels, looks },
      width: spec.width,
      zero: spec.against !== undefined,
    }),
  };
}

/** The lines of a column; with `against`, their differences from the lines there. */
function linesOf(study: Study, spec: Curves, y: Y): Line[] {
  const table = study.tidy[spec.table];
  const [xs, ys] = [table?.columns[spec.x.column], table?.columns[y.column]];
  if (table === undefined || xs === undefined || ys === undefined) return [];
  const apart = [...new Set([...table.axes, ...spec.panels, ...spec.series, ...spec.lines])]
    .filter((column) => table.columns[column] !== undefined && column !== spec.x.column);
  const placeOf = (row: number) =>
    Object.fromEntries(apart.map((column) => [column, String(table.columns[column]![row])]));
  const gather = (where: Curves["where"]) => {
    const lines = new Map<string, { at: At; points: Map<number, number> }>();
    for (const row of rowsAt(table, where)) {
      const [x, value] = [xs[row], ys[row]];
      if (typeof x !== "number" || typeof value !== "number" || x < (spec.x.from ?? -Infinity)) {
        continue;
      }
      const at = placeOf(row);
      const line = lines.getOrInsertComputed(keyOf(at), () => ({ at, points: new Map() }));
      line.points.set(x, value * y.scale);
    }
    return lines;
  };
  const lines = gather(spec.where);
  const { against } = spec;
  if (against === undefined) return [...lines.values()];
  const others = gather({ ...spec.where, ...against });
  return [...lines.values()].flatMap(({ at, points }) => {
    const place = { ...at, ...against };
    const other = keyOf(place) === keyOf(at) ? undefined : others.get(keyOf(place));
    if (other === undefined) return [];
    const shared = [...points].filter(([x]) => other.points.has(x));
    return [{ at, points: new Map(shared.map(([x, value]) => [x, value - other.points.get(x)!])) }];
  });
}

function seriesOf(
  lines: readonly Line[],
  { study, spec, label }: { readonly study: Study; readonly spec: Curves; readonly label: string },
): Series {
  const mean = meanOf(lines);
  const seeds = new Set(lines.map(({ at }) => at[study.seeds])).size;
  const faint = spec.lines.length === 0
    ? lines.map((line) => meanOf([line]))
    : [...Map.groupBy(lines, ({ at }) => keyOf(pick(at, spec.lines))).values()].map(meanOf);
  return {
    label,
    seeds,
    mean: stretched(mean),
    ends: mean,
    faint: spec.marks === "seeds" && faint.length > 1 ? faint.map(stretched) : [],
    band: spec.marks === "band" && lines.length > 1 ? bandOf(lines) : [],
  };
}

/** The mean of lines at each x that all of them have. */
function meanOf(lines: readonly Line[]): Point[] {
  return shared(lines).map(({ x, values }) => ({ x, y: sum(values) / values.length }));
}

function bandOf(lines: readonly Line[]): Series["band"] {
  const [low, high] = [Math.min, Math.max].map((end) =>
    stretched(shared(lines).map(({ x, values }) => ({ x, y: end(...values) })))
  );
  return low!.map(({ x, y }, index) => ({ x, low: y, high: high![index]!.y }));
}

function shared(lines: readonly Line[]): { x: number; values: number[] }[] {
  const xs = [...lines[0]!.points.keys()].sort((a, b) => a - b);
  return xs.filter((x) => lines.every(({ points }) => points.has(x)))
    .map((x) => ({ x, values: lines.map(({ points }) => points.get(x)!) }));
}

/** Means over at most {@linkcode STRETCHES} stretches of equal length, each in its middle. */
export function stretched(points: readonly Point[]): Point[] {
  const length = Math.max(1, Math.ceil(points.length / STRETCHES));
  return Array.from({ length: Math.ceil(points.length / length) }, (_, index) => {
    const part = points.slice(index * length, (index + 1) * length);
    return {
      x: sum(part.map(({ x }) => x)) / part.length,
      y: sum(part.map(({ y }) => y)) / part.length,
    };
  });
}

/** A column's axis title; where it is a metric of which less is better, it says so. */
function axisOf(study: Study, { table, against }: Curves, { column, title }: Y): string {
  const metric = Object.entries(study.metrics).find(([name, each]) =>
    each.table === table && (each.column ?? name) === column
  )?.[1];
  const minus = against === undefined
    ? ""
    : `, minus ${labelOf(study, against, Object.keys(against), shortOf)}`;
  return title + minus + (metric?.better === "less" ? " (less is better)" : "");
}

function subtitleOf(
  study: Study,
  spec: Curves,
  { all, long }: { readonly all: readonly Line[]; readonly long: boolean },
): string {
  const several = new Set(all.map(({ at }) => at[study.seeds])).size > 1;
  const apart = spec.lines.join(" and ");
  const mean = several ? "means over seeds, as far as every seed goes" : "one seed";
  const around = spec.marks === "band"
    ? several || apart !== "" ? " Bands: from the lowest to the highest." : ""
    : apart !== ""
    ? ` Thin: one line for each ${apart}${several ? ", mean over seeds" : ""}.`
    : several
    ? " Thin: single seeds."
    : "";
  return [
    `Thick: ${apart === "" ? mean : "mean of all lines of a colour"}.${around}`,
    ...spec.against === undefined ? [] : ["Differences are taken under the same seed."],
    ...long ? [`Long lines are drawn as means over ${STRETCHES} stretches.`] : [],
  ].join(" ");
}

function describe({ title, axis, x, digits, series }: CurvesPanel, { against }: Curves): string {
  const number = (value: number) => (against === undefined ? decimal : signed)(value, digits);
  const parts = series.flatMap(({ label, ends, seeds }) => {
    const [first, last] = [ends[0], ends.at(-1)];
    if (first === undefined || last === undefined) return [];
    const values = ends.map(({ y }) => y);
    return [
      `${label} from ${number(first.y)} at ${first.x} to ${number(last.y)} at ${last.x}, lowest ` +
      `${number(Math.min(...values))}, highest ${number(Math.max(...values))} (${
        counted(seeds, "seed")
      })`,
    ];
  });
  return `${title}: ${axis}, by ${x.toLowerCase()}: ${parts.join("; ")}.`;
}

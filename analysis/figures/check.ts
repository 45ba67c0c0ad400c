/**
 * What is wrong with declared figures, as far as it can be known before anything runs.
 *
 * @module
 */
import type { Figure, Figures } from "../spec/figures.ts";
import { type Refusal, vegaLiteRefusals } from "./vega_lite.ts";

/** What figures may name. What is left out is not known, and not checked. */
export interface Known {
  /** Axes with all of their values. */
  readonly axes: Readonly<Record<string, readonly string[]>>;
  readonly metrics?: readonly string[];
  /** Tidy tables with their columns, axes apart. */
  readonly tables?: Readonly<Record<string, readonly string[]>>;
  /** Sources of printed values. */
  readonly sources?: readonly string[];
}

/** Names that are none, and what figures may not do; paths begin with the figure's name. */
export function figureViolations(figures: Figures, known: Known): Refusal[] {
  return Object.entries(figures).flatMap(([name, figure]) =>
    violationsOf(figure, known).map(({ path, message }) => ({ path: [name, ...path], message }))
  );
}

function violationsOf(figure: Figure, known: Known): Refusal[] {
  if (figure.template === "vega-lite") {
    const tables = known.tables && Object.keys(known.tables);
    return vegaLiteRefusals(figure.spec, tables)
      .map(({ path, message }) => ({ path: ["spec", ...path], message }));
  }
  if (figure.template === "diagram") {
    return figure.panels.flatMap(({ arrows, boxes }, panel) =>
      arrows.flatMap((ends, arrow) =>
        unknown(ends, {
          path: ["panels", panel, "arrows", arrow],
          known: Object.keys(boxes),
          what: "a box",
        })
      )
    );
  }
  const found: Refusal[] = [];
  const names = (
    key: string,
    values: readonly string[],
    known: readonly string[] | undefined,
    what: string,
  ) => {
    if (known !== undefined) found.push(...unknown(values, { path: [key], known, what }));
  };
  const one = (
    path: (string | number)[],
    value: string,
    known: readonly string[] | undefined,
    what: string,
  ) => {
    if (known !== undefined && !known.includes(value)) {
      found.push(refusal(path, { value, known, what }));
    }
  };
  const axes = Object.keys(known.axes);
  const isCurves = figure.template === "curves";
  // Columns tell curves apart as well; unless the tables are known, any name may be one.
  const columns = isCurves ? known.tables?.[figure.table] : [];
  const apart = columns && [...axes, ...columns];
  names("panels", figure.panels, apart, isCurves ? "an axis or a column" : "an axis");
  if (isCurves) {
    one(["table"], figure.table, known.tables && Object.keys(known.tables), "a tidy table");
    names("series", figure.series, apart, "an axis or a column");
    names("lines", figure.lines, apart, "an axis or a column");
    one(["x", "column"], figure.x.column, columns, "a column");
    figure.y.forEach(({ column }, index) =>
      one(["y", index, "column"], column, columns, "a column")
    );
  } else {
    one(["metric"], figure.metric, known.metrics, "a metric");
    names("rows", figure.rows, axes, "an axis");
    names("sources", figure.sources, known.sources, "a source of printed values");
  }
  const places = { where: figure.where, against: "against" in figure ? figure.against : undefined };
  for (const [key, place] of Object.entries(places)) {
    for (const [axis, values] of Object.entries(place ?? {})) {
      one([key, axis], axis, apart, "an axis");
      for (const value of [values].flat()) {
        one([key, axis], String(value), known.axes[axis], `a value of ${axis}`);
      }
    }
  }
  return found;
}

function unknown(
  values: readonly string[],
  { path, known, what }: {
    readonly path: readonly (string | number)[];
    readonly known: readonly string[];
    readonly what: string;
  },
): Refusal[] {
  return values.flatMap((value, index) =>
    known.includes(value) ? [] : [refusal([...path, index], { value, known, what })]
  );
}

function refusal(
  path: readonly (string | number)[],
  { value, known, what }: { value: string; known: readonly string[]; what: string },
): Refusal {
  return {
    path,
    message: `must name ${what} (${known.join(", ") || "there is none"}), got "${value}"`,
  };
}

/**
 * What is wrong with declared figures, as far as it can be known before anything runs.
 *
 * @module
 */
import type { Violation } from "../../pipeline/stage.ts";
import type { Figure, Figures } from "../spec/figures.ts";
import { type Known, Names } from "../spec/names.ts";
import { vegaLiteViolations } from "./vega_lite.ts";

/** Names that are none, and what figures may not do; paths begin with the figure's name. */
export function figureViolations(figures: Figures, known: Known): Violation[] {
  return Object.entries(figures).flatMap(([name, figure]) =>
    violationsOf(figure, known).map(({ path, message }) => ({ path: [name, ...path], message }))
  );
}

function violationsOf(figure: Figure, known: Known): Violation[] {
  const names = new Names(known);
  if (figure.template === "vega-lite") {
    return vegaLiteViolations(figure.spec, known.tables && Object.keys(known.tables))
      .map(({ path, message }) => ({ path: ["spec", ...path], message }));
  }
  if (figure.template === "diagram") {
    figure.panels.forEach(({ arrows, boxes }, panel) =>
      arrows.forEach((ends, arrow) =>
        ends.forEach((box, end) =>
          names.oneOf(["panels", panel, "arrows", arrow, end], box, {
            what: "box",
            possible: Object.keys(boxes),
          })
        )
      )
    );
    return names.found;
  }
  const each = (key: string, values: readonly string[], check: typeof names.source) =>
    values.forEach((value, index) => check.call(names, [key, index], value));
  if (figure.template === "curves") {
    const table = names.table(["table"], figure.table);
    // Columns tell curves apart as well; unless the tables are known, any name may be one.
    const possible = table && [...Object.keys(known.axes), ...table.columns];
    for (const key of ["panels", "series", "lines"] as const) {
      figure[key].forEach((name, index) =>
        names.oneOf([key, index], name, { what: "axis or column", possible })
      );
    }
    names.column(["x", "column"], figure.x.column, table);
    figure.y.forEach(({ column }, index) => names.column(["y", index, "column"], column, table));
    if (table === undefined) return names.found;
    names.where(["where"], figure.where, table);
    names.where(["against"], figure.against, table);
    return names.found;
  }
  names.metric(["metric"], figure.metric);
  each("panels", figure.panels, names.axis);
  each("rows", figure.rows, names.axis);
  each("sources", figure.sources, names.source);
  names.where(["where"], figure.where);
  if (figure.template === "forest") names.where(["against"], figure.against);
  return names.found;
}

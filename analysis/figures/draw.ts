/**
 * Any declared figure as SVG.
 *
 * @module
 */
import type { Figure } from "../spec/figures.ts";
import type { Study } from "../study.ts";
import { curves } from "./curves.ts";
import { diagramFigure } from "./diagram.ts";
import { renderSvg } from "./render.ts";
import { bars, forest, published } from "./rows.ts";
import { vegaLite } from "./vega_lite.ts";

/** Draws a figure; its bytes depend on the study and the figure alone. */
export async function figureSvg(study: Study, name: string, spec: Figure): Promise<string> {
  switch (spec.template) {
    case "forest":
      return await renderSvg(forest(study, { name, spec }));
    case "published":
      return await renderSvg(published(study, { name, spec }));
    case "bars":
      return await renderSvg(bars(study, { name, spec }));
    case "curves":
      return await renderSvg(curves(study, { name, spec }));
    case "vega-lite":
      return await renderSvg(vegaLite(study, { name, spec }));
    case "diagram":
      return diagramFigure(name, spec);
  }
}

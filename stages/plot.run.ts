/**
 * Runs stage `plot`, which `plot.ts` declares.
 *
 * @module
 */
import { join } from "node:path";
import { figureSvg } from "../analysis/figures/draw.ts";
import { renderPng } from "../analysis/figures/render.ts";
import { readStudy } from "../analysis/results.ts";
import type { StageContext } from "../pipeline/stage.ts";
import type { PlotParams } from "./plot.ts";

export async function run(context: StageContext<PlotParams>): Promise<void> {
  const { figures, scale } = context.params;
  const study = readStudy(context.input("results").path);
  const folder = context.output("figures");
  const named = Object.entries(figures);
  for (const [index, [name, figure]] of named.entries()) {
    const svg = await figureSvg(study, name, figure);
    Deno.writeTextFileSync(join(folder, `${name}.svg`), svg);
    Deno.writeFileSync(join(folder, `${name}.png`), await renderPng(svg, { scale }));
    context.progress({ done: index + 1, total: named.length, unit: "figures" });
  }
}

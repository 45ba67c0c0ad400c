/**
 * Draws figures of a made-up study, as the reference pictures were drawn:
 *
 * ```sh
 * deno run -A tests/rig/draw_figures.ts tests/reference/figures 0.5 sprouted_changes growth scheme
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { figureSvg } from "../../analysis/figures/draw.ts";
import { renderPng } from "../../analysis/figures/render.ts";
import { PLANT_FIGURES, plants } from "../analysis/figures/made_up.ts";

const [folder, scale, ...names] = Deno.args;
const study = plants();
for (const name of names) {
  const svg = await figureSvg(study, name, PLANT_FIGURES[name]!);
  Deno.writeFileSync(join(folder!, `${name}.png`), await renderPng(svg, { scale: Number(scale) }));
}

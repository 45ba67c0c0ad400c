/**
 * Draws small figures from made-up results, as the reference pictures were drawn:
 *
 * ```sh
 * deno run -A tests/rig/draw_figures.ts tests/reference/figures delta curves operators
 * ```
 *
 * @module
 */
import { join } from "node:path";
import { aggregateFusion as aggregate } from "../../stages/aggregate_fusion.ts";
import { plot } from "../../stages/plot.ts";
import { AG, madeUpInputs, SHORT } from "../stages/results/made_up.ts";
import { artifact, runStage } from "./run_stage.ts";
import { temporaryFolder } from "./temporary.ts";

const [folder, ...kinds] = Deno.args;
const directory = temporaryFolder();
const inputs = madeUpInputs(directory, [AG, SHORT]);
const { outputs } = await runStage(aggregate, {}, { directory, inputs });
const results = artifact(outputs["results"]!);
for (const kind of kinds) {
  const own = { directory: temporaryFolder(), inputs: { results } };
  const drawn = await runStage(plot, { kind, width: 240, scale: 0.5 }, own);
  const png = Deno.readFileSync(join(drawn.outputs["figures"]!, `${kind}.png`));
  Deno.writeFileSync(join(folder!, `${kind}.png`), png);
}

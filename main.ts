/**
 * Lockstep: hands the project's stages and experiments to the command line.
 *
 * @module
 */
import { main } from "./pipeline/cli/main.ts";
import { aggregate } from "./stages/aggregate.ts";
import { download } from "./stages/download.ts";
import { evaluate } from "./stages/evaluate.ts";
import { plot } from "./stages/plot.ts";
import { report } from "./stages/report.ts";
import { tokenize } from "./stages/tokenize.ts";
import { train } from "./stages/train.ts";
import type { Stage } from "./pipeline/stage.ts";

if (import.meta.main) {
  const stages = [download, tokenize, train, evaluate, aggregate, plot, report] as Stage[];
  const project = { root: import.meta.dirname!, stages, experiments: ["fusion"] };
  Deno.exit(await main(project, Deno.args));
}

/**
 * Lockstep: hands the project's stages and experiments to the command line.
 *
 * @module
 */
import { main, type Project } from "./pipeline/cli/main.ts";
import { aggregate } from "./stages/aggregate.ts";
import { aggregateIntensity } from "./stages/aggregate_intensity.ts";
import { aggregateLatency } from "./stages/aggregate_latency.ts";
import { aggregateSpeed } from "./stages/aggregate_speed.ts";
import { download } from "./stages/download.ts";
import { evaluate } from "./stages/evaluate.ts";
import { evaluateLanguage } from "./stages/evaluate_language.ts";
import { generate } from "./stages/generate.ts";
import { latency } from "./stages/latency.ts";
import { plot } from "./stages/plot.ts";
import { plotIntensity } from "./stages/plot_intensity.ts";
import { plotLatency } from "./stages/plot_latency.ts";
import { report } from "./stages/report.ts";
import { reportIntensity } from "./stages/report_intensity.ts";
import { tokenize } from "./stages/tokenize.ts";
import { train } from "./stages/train.ts";
import { trainLanguage } from "./stages/train_language.ts";
import type { Stage } from "./pipeline/stage.ts";

/** This project. */
export const project: Project = {
  root: import.meta.dirname!,
  stages: [
    download,
    tokenize,
    ...[train, evaluate, aggregate, plot, report],
    ...[latency, aggregateLatency, plotLatency],
    ...[trainLanguage, evaluateLanguage, generate],
    ...[aggregateIntensity, aggregateSpeed, plotIntensity, reportIntensity],
  ] as Stage[],
  experiments: ["fusion", "intensity"],
};

if (import.meta.main) Deno.exit(await main(project, Deno.args));

/**
 * Lockstep: hands the project's stages to the command line.
 *
 * @module
 */
import { main, type Project } from "./pipeline/cli/main.ts";

/** This project. A stage's module is loaded when a command needs it. */
export const project: Project = {
  root: import.meta.dirname!,
  stages: {
    download: () => import("./stages/download.ts"),
    tokenize: () => import("./stages/tokenize.ts"),
    train: () => import("./stages/train.ts"),
    evaluate: () => import("./stages/evaluate.ts"),
    train_averaging: () => import("./stages/train_averaging.ts"),
    aggregate: () => import("./stages/aggregate.ts"),
    aggregate_fusion: () => import("./stages/aggregate_fusion.ts"),
    plot: () => import("./stages/plot.ts"),
    plot_fusion: () => import("./stages/plot_fusion.ts"),
    report: () => import("./stages/report.ts"),
    latency: () => import("./stages/latency.ts"),
    aggregate_latency: () => import("./stages/aggregate_latency.ts"),
    plot_latency: () => import("./stages/plot_latency.ts"),
    train_language: () => import("./stages/train_language.ts"),
    evaluate_language: () => import("./stages/evaluate_language.ts"),
    generate: () => import("./stages/generate.ts"),
    speed: () => import("./stages/speed.ts"),
    aggregate_intensity: () => import("./stages/aggregate_intensity.ts"),
    aggregate_speed: () => import("./stages/aggregate_speed.ts"),
    plot_intensity: () => import("./stages/plot_intensity.ts"),
    report_intensity: () => import("./stages/report_intensity.ts"),
  },
  experiment: "fusion",
};

if (import.meta.main) Deno.exit(await main(project, Deno.args));

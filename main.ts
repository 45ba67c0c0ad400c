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
    latency: () => import("./stages/latency.ts"),
    train_language: () => import("./stages/train_language.ts"),
    evaluate_language: () => import("./stages/evaluate_language.ts"),
    generate: () => import("./stages/generate.ts"),
    speed: () => import("./stages/speed.ts"),
    aggregate: () => import("./stages/aggregate.ts"),
    plot: () => import("./stages/plot.ts"),
    report: () => import("./stages/report.ts"),
  },
  experiment: "fusion",
  doctor: () => import("./doctor/doctor.ts"),
};

if (import.meta.main) Deno.exit(await main(project, Deno.args));

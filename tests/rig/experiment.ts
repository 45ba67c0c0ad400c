/**
 * Reads experiment files that a test writes, without running anything.
 *
 * @module
 */
import { dirname, join } from "node:path";
import { type Experiment, loadExperiment } from "../../pipeline/config/experiment.ts";
import { readFiles } from "../../pipeline/config/files.ts";
import { buildGraph, type Graph } from "../../pipeline/plan/graph.ts";
import type { Stage } from "../../pipeline/stage.ts";
import { temporaryFolder } from "./temporary.ts";

/** How to read; all have a default. */
export interface LoadOptions {
  readonly profile?: string;
  readonly set?: readonly string[];
  readonly mirror?: string;
}

/** An experiment as it was read. */
export interface Loaded {
  readonly experiment: Experiment;
  readonly graph: Graph;
}

/**
 * Writes files below `experiments/x/` of a new folder and reads `experiment.yaml` among them, with profile `p`
 * unless another is given.
 */
export function loadFiles(
  files: Readonly<Record<string, string | Uint8Array>>,
  stages: readonly Stage[],
  options: LoadOptions = {},
): Loaded {
  const root = temporaryFolder();
  for (const [name, content] of Object.entries(files)) {
    const path = join(root, "experiments/x", name);
    Deno.mkdirSync(dirname(path), { recursive: true });
    if (typeof content === "string") Deno.writeTextFileSync(path, content);
    else Deno.writeFileSync(path, content);
  }
  const experiment = loadExperiment(readFiles("x", root), {
    root,
    profile: options.profile ?? "p",
    set: options.set ?? [],
    stages: new Map(stages.map((stage) => [stage.name, stage])),
    mirror: options.mirror,
  });
  return { experiment, graph: buildGraph(experiment) };
}

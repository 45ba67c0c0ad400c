/**
 * `doctor`: what this machine can do. The engine knows no tensors: the project's own examination runs,
 * and is handed what its profiles consist of.
 *
 * @module
 */
import { experimentNames } from "../config/files.ts";
import { UsageError } from "../errors.ts";
import type { Options } from "./options.ts";
import { profilesOf } from "./profiles.ts";
import type { PlannedGraph, Print, Project } from "./project.ts";
import { commitOf } from "./version.ts";
import { openExperiment } from "./wiring.ts";

/** Runs the project's examination. */
export async function showDoctor(
  project: Project,
  options: Options,
  print: Print,
): Promise<number> {
  if (project.doctor === undefined) {
    throw new UsageError(
      'Cannot run "doctor": main.ts must name the module that examines a machine',
    );
  }
  const { doctor } = await project.doctor();
  const onTerminal = Deno.stderr.isTerminal();
  return await doctor({
    backend: options.backend,
    json: options.json,
    commit: commitOf(project.root),
    plans: () => plansOf(project, options),
    print,
    progress: (what) => {
      if (onTerminal) Deno.stderr.writeSync(new TextEncoder().encode(`\r\x1b[K${what}`));
    },
  });
}

/** The instances of every profile of every experiment. */
async function plansOf(project: Project, options: Options): Promise<PlannedGraph[]> {
  const plans: PlannedGraph[] = [];
  for (const experiment of experimentNames(project.root)) {
    for (const profile of profilesOf(project, experiment)) {
      const { all: graph } = await openExperiment(project, { ...options, experiment, profile });
      plans.push({ experiment, profile, graph });
    }
  }
  return plans;
}

/**
 * What needs no store: the project's stages, an experiment, and the instances it is made of.
 *
 * @module
 */
import { type Experiment, loadExperiment } from "../config/experiment.ts";
import { experimentNames } from "../config/files.ts";
import { ConfigError, UsageError } from "../errors.ts";
import { buildGraph, type Graph } from "../plan/graph.ts";
import { checkInstances } from "../plan/surroundings.ts";
import type { Stage } from "../stage.ts";
import type { Options } from "./options.ts";
import { profilesOf } from "./profiles.ts";
import type { Project } from "./project.ts";

/** An experiment and the instances it is made of. */
export interface Wiring {
  readonly experiment: Experiment;
  /** `fusion.smoke`. */
  readonly name: string;
  /** The whole graph. */
  readonly all: Graph;
}

/** Loads the project's stages. */
export async function loadStages({ stages }: Project): Promise<Map<string, Stage>> {
  const loaded = await Promise.all(
    Object.entries(stages).map(async ([name, load]) =>
      [name, stageOf(await load(), name)] as const
    ),
  );
  return new Map(loaded);
}

/** The stage of a name among what a module exports. */
function stageOf(module: object, name: string): Stage {
  const found = Object.values(module).find((value) => value?.name === name && value.outputs);
  if (found) return found;
  throw new ConfigError(`main.ts: stages.${name}: its module must export a stage of that name`);
}

/**
 * Reads the experiment and builds its graph. Opens no store.
 *
 * @throws {ConfigError} If an option or the experiment's file is wrong.
 */
export async function openExperiment(project: Project, options: Options): Promise<Wiring> {
  const { root } = project;
  const stages = await loadStages(project);
  const wanted = options.experiment ?? project.experiment;
  const { profile, set, mirror } = options;
  let experiment: Experiment;
  try {
    experiment = loadExperiment(wanted, { root, profile, set, stages, mirror });
  } catch (error) {
    throw mistaken(project, { wanted, profile }) ?? error;
  }
  const name = `${experiment.name}.${experiment.profile}`;
  const all = buildGraph(experiment);
  await checkInstances(all, experiment);
  return { experiment, name, all };
}

/** What is wrong where an experiment is named as a profile, or a profile as an experiment. */
function mistaken(
  project: Project,
  { wanted, profile }: { readonly wanted: string; readonly profile: string },
): UsageError | undefined {
  const { experiment: usual } = project;
  const experiments = experimentNames(project.root);
  if (!experiments.includes(wanted) && profilesOf(project, usual).includes(wanted)) {
    return new UsageError(
      `Cannot use --experiment ${wanted}: no experiment "${wanted}", but ${usual} has such a ` +
        `profile; did you mean --profile ${wanted}?`,
    );
  }
  if (experiments.includes(profile) && !profilesOf(project, wanted).includes(profile)) {
    return new UsageError(
      `Cannot use --profile ${profile}: ${wanted} has no profile "${profile}", but there is such ` +
        `an experiment; did you mean --experiment ${profile}?`,
    );
  }
  return undefined;
}

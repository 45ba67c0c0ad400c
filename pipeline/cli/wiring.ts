/**
 * What needs no store: the project's stages, an experiment, and the instances it is made of.
 *
 * @module
 */
import { join } from "node:path";
import { type Experiment, loadExperiment } from "../config/experiment.ts";
import { type ExperimentFiles, experimentNames, readFiles } from "../config/files.ts";
import type { ExperimentFile } from "../config/schema.ts";
import { ConfigError, UsageError } from "../errors.ts";
import { buildGraph, type Graph } from "../plan/graph.ts";
import { checkInstances } from "../plan/surroundings.ts";
import type { Stage } from "../stage.ts";
import { readPins } from "../store/pins.ts";
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
  /** What it was read from: absolute paths. */
  readonly files: readonly string[];
}

/** Loads stages of a project, all or some. */
export async function loadStages(
  { stages }: Project,
  names = Object.keys(stages),
): Promise<Map<string, Stage>> {
  const loaded = await Promise.all(
    names.map(async (name) => [name, stageOf(await stages[name]!(), name)] as const),
  );
  return new Map(loaded);
}

/** Loads the stages that an experiment names; all, for a message, if one of those is not there. */
function loadStagesOf(project: Project, file: ExperimentFile): Promise<Map<string, Stage>> {
  const isKnown = (name: string) => Object.hasOwn(project.stages, name);
  // A command is a stage itself; one that has the name of another is refused when both are known.
  const named = new Set(
    Object.entries(file.stages)
      .filter(([node, { command }]) => command === undefined || isKnown(node))
      .map(([node, { stage = node }]) => stage),
  );
  const areKnown = [...named].every(isKnown);
  return loadStages(project, areKnown ? [...named] : undefined);
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
  const wanted = options.experiment ?? project.experiment;
  const { profile, set, mirror } = options;
  let experiment: Experiment;
  let files: ExperimentFiles;
  try {
    files = readFiles(wanted, root);
    const stages = await loadStagesOf(project, files.file);
    experiment = loadExperiment(files, {
      ...{ root, profile, set, stages, mirror },
      pins: readPins(root),
    });
  } catch (error) {
    throw mistaken(project, { wanted, profile }) ?? error;
  }
  const name = `${experiment.name}.${experiment.profile}`;
  const all = buildGraph(experiment);
  await checkInstances(all, experiment);
  const read = [files.document, ...files.included.values()].map(({ name }) => join(root, name));
  return { experiment, name, all, files: read };
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

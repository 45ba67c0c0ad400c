/**
 * What the stages of an experiment that are commands consist of: their files, and what those rest on.
 *
 * @module
 */
import type { Experiment } from "../config/experiment.ts";
import { broken } from "../config/issues.ts";
import type { Bundle } from "../key/bundle_format.ts";
import type { Ingredients } from "../key/ingredients.ts";
import type { Executor } from "../run/executor.ts";
import type { Stage, Violation } from "../stage.ts";
import { commandBundle } from "../store/command_code.ts";
import type { LocalStore } from "../store/local_store.ts";

/** A command's files and the ingredients that it has besides. */
export interface LoadedCommand {
  readonly bundle: Bundle;
  readonly ingredients: Ingredients;
}

/**
 * Reads and examines the commands among some stages, by their names.
 *
 * @throws {ConfigError} At the lines of what is not there or not as it must be.
 */
export async function loadCommands(
  stages: readonly Stage[],
  { experiment, project, executor, store }: {
    readonly experiment: Experiment;
    readonly project: { readonly root: string };
    readonly executor: Executor;
    readonly store: LocalStore;
  },
): Promise<ReadonlyMap<string, LoadedCommand>> {
  const loaded = new Map<string, LoadedCommand>();
  const found: { readonly stage: string; readonly violation: Violation }[] = [];
  for (const { name: stage, command } of stages) {
    if (command === undefined) continue;
    const bundle = commandBundle({ command, root: project.root, store });
    if ("message" in bundle) {
      found.push({ stage, violation: bundle });
      continue;
    }
    const examined = await executor.examine(command);
    if ("ingredients" in examined) loaded.set(stage, { bundle, ...examined });
    else found.push({ stage, violation: examined.violation });
  }
  if (found.length === 0) return loaded;
  throw broken(
    found,
    ({ stage, violation: { path, message } }) =>
      experiment.locate(["stages", stage, "command", ...path], message),
  );
}

/**
 * What a stage is handed, and what its key is, for each instance of an experiment as its files have it:
 * from the first it is predicted who must react to an edit, the second says who does. They are made of
 * the same instance in different ways, so that what slips past one is seen in the other.
 *
 * @module
 */
import { loadExperiment } from "../config/experiment.ts";
import { readFiles } from "../config/files.ts";
import { type Sha256, sha256 } from "../key/hash.ts";
import { type Ingredients, keyOf, stageIngredients } from "../key/ingredients.ts";
import type { Platform } from "../key/platform.ts";
import { buildGraph, type Instance } from "../plan/graph.ts";
import { ingredientsOf, inputDigests } from "../plan/ingredients.ts";
import { checkInstances } from "../plan/surroundings.ts";
import type { Stage } from "../stage.ts";
import { readPins } from "../store/pins.ts";
import type { OutputRecord } from "../store/trace.ts";

/** An instance as an audit of the engine sees it. */
export interface Looked {
  readonly instance: Instance;
  /** All that its stage's process is given but what never changes a result, as text. */
  readonly handed: string;
  readonly ingredients: Ingredients;
  readonly key: Sha256;
}

/** Which experiment is looked at, and with what. */
export interface Subject {
  /** Where its files are. */
  readonly root: string;
  readonly experiment: string;
  readonly profile: string;
  readonly mirror: string | undefined;
  readonly stages: ReadonlyMap<string, Stage>;
  readonly platform: Platform;
  /** What makes keys: the engine's own, unless something else is to be tried. */
  readonly keyed?: typeof keyOf;
}

/**
 * Looks at every instance, by name. Nothing needs to have run: what feeds an instance is named, not made,
 * so that each is seen to react to what reaches it directly.
 *
 * @throws {ConfigError} If the experiment's files are refused.
 */
export async function lookAtInstances(subject: Subject): Promise<Map<string, Looked>> {
  const { root, experiment: wanted, profile, mirror, stages, platform, keyed = keyOf } = subject;
  const experiment = loadExperiment(readFiles(wanted, root), {
    ...{ root, profile, mirror, stages },
    set: [],
    pins: readPins(root),
  });
  const graph = buildGraph(experiment);
  await checkInstances(graph, experiment);
  return new Map(graph.map((instance) => {
    const { node } = instance;
    const code = { code: sha256(`code of ${node.stage.name}`), sources: {} };
    const shared = stageIngredients(node.stage, code, platform);
    const ingredients = ingredientsOf(instance, shared, inputDigests(instance, named));
    const handed = handedTo(instance, platform);
    return [instance.name, { instance, handed, ingredients, key: keyed(ingredients) }];
  }));
}

/** Outputs that are named after their instance, in place of their content. */
function named({ name, node }: Instance): Readonly<Record<string, OutputRecord>> {
  return Object.fromEntries(
    Object.entries(node.stage.outputs).map(([output, { kind, exactness }]) => [
      output,
      { sha256: sha256(`${output} of ${name}`), bytes: 0, kind, exactness },
    ]),
  );
}

function handedTo({ node, params, inputs }: Instance, platform: Platform): string {
  const { stage } = node;
  const operational = new Set<string>(stage.operational ?? []);
  const given = Object.fromEntries(
    Object.entries(params as object).filter(([name]) => !operational.has(name)),
  );
  const bound = Object.entries(stage.inputs).map(([name, { many }]) => [
    name,
    inputs[name]!.map(({ instance, output }) => [
      `${output} of ${instance.name}`,
      // What a stage gathers comes with its coordinates.
      many ? [instance.node.name, instance.at] : [],
    ]),
  ]);
  const outputs = Object.entries(stage.outputs)
    .map(([name, { kind, exactness }]) => [name, kind, exactness])
    .sort();
  const measures = Object.values(stage.outputs).some(({ exactness }) => exactness === "measured");
  return JSON.stringify([
    ...[stage.name, given, bound, outputs, stage.alone ?? false, measures],
    stage.numeric ? platform.ingredients : {},
  ]);
}

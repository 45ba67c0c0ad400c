/**
 * What every command starts from: the experiment, its graph, the store, the code and the plan.
 *
 * @module
 */
import { join, resolve } from "node:path";
import type { Bundle } from "../key/bundle.ts";
import { loadBundles } from "../store/code.ts";
import { type Experiment, loadExperiment } from "../config/experiment.ts";
import { stageIngredients } from "../key/ingredients.ts";
import { buildGraph, type Graph, type Instance, select } from "../plan/graph.ts";
import { type LatestRun, readLatest } from "../store/latest.ts";
import { type Decision, type Estimate, estimate, plan, type PlanInput } from "../plan/plan.ts";
import type { Platform } from "../key/platform.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Executor } from "../run/executor.ts";
import { LocalExecutor } from "../run/executor/local.ts";
import { sealedOutputs } from "../store/artifact_store.ts";
import { checkPublishPaths } from "../store/publish.ts";
import type { Stage } from "../stage.ts";
import { LocalStore, type StoreOptions } from "../store/local_store.ts";
import { matcher } from "./glob.ts";
import type { Options } from "./options.ts";

/** A project: where it is, its stage definitions and its experiments, the default one first. */
export interface Project {
  readonly root: string;
  readonly stages: readonly Stage[];
  readonly experiments: readonly string[];
}

/** Everything known before anything runs. */
export interface Session {
  readonly experiment: Experiment;
  /** `fusion.smoke`. */
  readonly name: string;
  /** The whole graph. */
  readonly all: Graph;
  /** What `--only` leaves of it. */
  readonly graph: Graph;
  readonly store: LocalStore;
  readonly outputs: string;
  readonly bundles: ReadonlyMap<string, Bundle>;
  readonly executor: Executor;
  readonly platform: Platform;
  readonly latest: LatestRun | undefined;
  readonly planInput: PlanInput;
  readonly decisions: ReadonlyMap<Instance, Decision>;
  readonly secondsOf: (instance: Instance) => number | undefined;
  readonly estimate: Estimate;
}

/** The folder results go to. */
export function outputsFolder(project: Project, options: Options): string {
  return options.outputs === undefined ? join(project.root, "outputs") : resolve(options.outputs);
}

/** The project's stage definitions by name. */
export function stageMap(project: Project): Map<string, Stage> {
  return new Map(project.stages.map((stage) => [stage.name, stage]));
}

/** How commands open a store that they only read: damage stays as it is, and is told. */
export const READING: StoreOptions = {
  reading: true,
  onDamage: (path, message) => console.error(`damaged: ${path}: ${message}`),
};

/**
 * Reads the experiment, opens the store and makes the plan.
 *
 * @throws {LockstepError} If anything the user can mend is wrong.
 */
export async function openSession(
  project: Project,
  options: Options,
  storeOptions: StoreOptions = {},
): Promise<Session> {
  const { root } = project;
  const experiment = loadExperiment(options.experiment ?? project.experiments[0] ?? "", {
    root,
    profile: options.profile,
    set: options.set,
    stages: stageMap(project),
    mirror: options.mirror,
  });
  const all = buildGraph(experiment);
  const names = all.map((instance) => instance.name);
  const only = matcher(options.only, names, "only");
  const force = matcher(options.force, names, "force");
  const graph = options.only.length > 0 ? select(all, only) : all;
  checkPublishPaths(graph);
  const used = [...new Set(graph.map((instance) => instance.node.stage.name))];
  const numeric = all.some((instance) => instance.node.stage.numeric);
  const executor = new LocalExecutor();
  const platform = await executor.platform(numeric ? options.backend : "wasm");
  const outputs = outputsFolder(project, options);
  const store = new LocalStore(join(outputs, "store"), storeOptions);
  const bundles = await loadBundles(root, used, store);
  const name = `${experiment.name}.${experiment.profile}`;
  store.catalog.readAhead(name);
  const latest = readLatest(name, store);
  const shared = new Map(used.map((stage) => [
    stage,
    stageIngredients(stageMap(project).get(stage)!, bundles.get(stage)!, platform),
  ]));
  const planInput: PlanInput = {
    shared: (stage) => shared.get(stage)!,
    outputs: (key) => store.outputs(key),
    previous(instance) {
      const key = latest?.keys[instance.name] ?? store.catalog.latest(instance.name, name)?.key;
      return key === undefined ? Promise.resolve(undefined) : store.trace(key as Sha256);
    },
    forced: options.force.length > 0 ? (instance) => force(instance.name) : () => false,
  };
  const decisions = await plan(graph, planInput);
  const secondsOf = expectedSeconds(store, name);
  return {
    experiment,
    name,
    all,
    graph,
    store,
    outputs,
    bundles,
    executor,
    platform,
    latest,
    planInput,
    decisions,
    secondsOf,
    estimate: estimate(decisions, secondsOf, options.jobs),
  };
}

/**
 * The session with the plan made from sealed traces alone. The catalogue may only say that there is
 * nothing to do: whoever runs an instance, publishes or writes a record takes this.
 */
export async function sealed(session: Session, options: Options): Promise<Session> {
  const { store, graph, secondsOf } = session;
  const planInput: PlanInput = {
    ...session.planInput,
    outputs: (key, how) => sealedOutputs(store, key, how),
  };
  const decisions = await plan(graph, planInput);
  const expected = estimate(decisions, secondsOf, options.jobs);
  return { ...session, planInput, decisions, estimate: expected };
}

/** What an instance should take: as long as its last time, else as its stage usually does. */
function expectedSeconds(
  store: LocalStore,
  run: string,
): (instance: Instance) => number | undefined {
  const medians = new Map<string, number | undefined>();
  return (instance) => {
    const own = store.catalog.latest(instance.name, run)?.seconds;
    if (own !== undefined) return own;
    const stage = instance.node.stage.name;
    if (!medians.has(stage)) {
      const recent = store.catalog.recentSeconds(stage, run).sort((a, b) => a - b);
      medians.set(stage, recent[Math.floor(recent.length / 2)]);
    }
    return medians.get(stage);
  };
}

/**
 * What every command starts from: the experiment, its graph, the store, the code and the plan.
 *
 * @module
 */
import { join, resolve } from "node:path";
import type { Bundle } from "../key/bundle_format.ts";
import { codeDigests, hasModules, loadBundles } from "../store/code.ts";
import { commandBundle } from "../store/command_code.ts";
import { type Ingredients, keyOnBackend, stageIngredients } from "../key/ingredients.ts";
import { type Graph, type Instance, select } from "../plan/graph.ts";
import { type LatestRun, readLatest } from "../store/latest.ts";
import { type Finished, onlyFinished } from "../plan/finished.ts";
import { type Decision, type Estimate, estimate, plan, type PlanInput } from "../plan/plan.ts";
import type { BackendChoice, Platform } from "../key/platform.ts";
import type { Sha256 } from "../key/hash.ts";
import type { Executor } from "../run/executor.ts";
import { atOnce, needsOf, requireRoom } from "../run/share.ts";
import { LocalExecutor } from "../run/executor/local.ts";
import { sealedOutputs } from "../store/artifact_store.ts";
import { Claims } from "../store/claims.ts";
import { checkPublishPaths } from "../run/publish.ts";
import { statOf } from "../files.ts";
import type { Stage } from "../stage.ts";
import { LocalStore } from "../store/local_store.ts";
import type { CachedStore } from "../store/remote/cached_store.ts";
import { type OpenOptions, openStoreWithCache } from "./cache.ts";
import { loadCommands } from "./command_stages.ts";
import { matcher } from "./glob.ts";
import type { Options } from "./options.ts";
import { isOnSlurm } from "./placement.ts";
import type { Print, Project } from "./project.ts";
import { openExperiment, type Wiring } from "./wiring.ts";

/** Everything known before anything runs. */
export interface Session extends Wiring {
  /** What `--only` leaves of it. */
  readonly graph: Graph;
  readonly store: LocalStore;
  /** The store, where a cache is behind it. */
  readonly cached?: CachedStore;
  /** What it counts on once it acts: see {@linkcode sealed}. */
  readonly claims: Claims;
  readonly outputs: string;
  readonly bundles: ReadonlyMap<string, Bundle>;
  /** Writes what of the bundles is gone from the store since: until it is claimed, it can be removed. */
  readonly keepCodeAgain: () => Promise<void>;
  readonly executor: Executor;
  /** The backend that was asked for, where that matters. */
  readonly asked: BackendChoice;
  readonly platform: Platform;
  readonly latest: LatestRun | undefined;
  readonly planInput: PlanInput;
  readonly decisions: ReadonlyMap<Instance, Decision>;
  /** With `--finished`: what of the graph is not in it. */
  readonly leftOut: Finished["leftOut"];
  readonly secondsOf: (instance: Instance) => number | undefined;
  /** How many instances of an instance's stage can run at once. */
  readonly atOnce: (instance: Instance) => number;
  readonly estimate: Estimate;
}

/** The folder results go to. */
export function outputsFolder(project: Project, options: Options): string {
  return options.outputs === undefined ? join(project.root, "outputs") : resolve(options.outputs);
}

/** How commands open a store that they only read: damage is reported and left as it is. */
export function reading(options: Options, print: Print): OpenOptions {
  return {
    reading: true,
    onDamage(path, message) {
      if (options.json) print(JSON.stringify({ event: "damaged", path, message }));
      else console.error(`damaged: ${path}: ${message}`);
    },
    onNote(message) {
      if (options.json) print(JSON.stringify({ event: "note", message }));
      else console.error(`note: ${message}`);
    },
  };
}

/** Opens the store to read; `undefined` if nothing was run yet. */
export function openStore(
  project: Project,
  options: Options,
  print: Print,
): LocalStore | undefined {
  const folder = join(outputsFolder(project, options), "store");
  return statOf(folder) && new LocalStore(folder, reading(options, print));
}

/**
 * Reads the experiment, opens the store and makes the plan.
 *
 * @throws {LockstepError} If anything the user can mend is wrong.
 */
export async function openSession(
  project: Project,
  options: Options,
  storeOptions: OpenOptions = {},
): Promise<Session> {
  const wiring = await openExperiment(project, options);
  const { name, all } = wiring;
  const names = all.map((instance) => instance.name);
  const only = matcher(
    options.only,
    names,
    options.command === "certify" ? "the pattern" : "--only",
  );
  const force = matcher(options.force, names, "--force");
  const graph = options.only.length > 0 ? select(all, only) : all;
  checkPublishPaths(graph, name);
  const used = new Map(graph.map(({ node }) => [node.name, node.stage]));
  const numeric = all.some((instance) => instance.node.stage.numeric);
  const outputs = outputsFolder(project, options);
  const executor = new LocalExecutor({
    uncaged: options.uncaged,
    adapters: options.adapter,
    ...storeOptions.onNote ? { onNote: storeOptions.onNote } : {},
    limits: {
      cpus: options.cpus,
      ...options.memory === undefined ? {} : { memoryBytes: options.memory },
    },
  });
  const asked = numeric ? options.backend : "wasm";
  const platform = await executor.platform(asked);
  const opened = await openStoreWithCache(join(outputs, "store"), options, storeOptions);
  const { store } = opened;
  const stages = new Set(
    [...used.values()].filter(({ command }) => !command).map((stage) => stage.name),
  );
  const commands = await loadCommands([...used.values()], { ...wiring, project, executor, store });
  const bundles = new Map([
    ...await loadBundles(project.root, [...stages], store),
    ...[...commands].map(([stage, { bundle }]) => [stage, bundle] as const),
  ]);
  store.catalog.readAhead(name);
  const latest = readLatest(name, store);
  const shared = new Map(
    [...used].map(([node, stage]) => [
      node,
      stageIngredients(stage, bundles.get(stage.name)!, commands.get(stage.name) ?? platform),
    ]),
  );
  const planInput: PlanInput = {
    shared: (node) => shared.get(node)!,
    outputs: (key) => store.outputs(key),
    otherKeys: (ingredients) => keysElsewhere(ingredients, options, opened.cached),
    previous(instance) {
      const key = latest?.keys[instance.name] ?? store.catalog.latest(instance.name, name)?.key;
      return key === undefined ? Promise.resolve(undefined) : store.trace(key as Sha256);
    },
    forced: options.force.length > 0 ? (instance) => force(instance.name) : () => false,
  };
  const planned = await planGraph(graph, planInput, options);
  const secondsOf = expectedSeconds(store, name);
  const limits = { ...executor.limits, places: options.jobs };
  const together = (instance: Instance) => atOnce(needsOf(instance, platform), limits);
  return {
    ...wiring,
    ...planned,
    ...opened,
    claims: new Claims(opened.store, name),
    outputs,
    bundles,
    keepCodeAgain: () => keepCodeAgain(project.root, [...used.values()], store),
    executor,
    asked,
    platform,
    latest,
    planInput,
    secondsOf,
    atOnce: together,
    estimate: estimate(planned.decisions, secondsOf, together),
  };
}

async function keepCodeAgain(
  root: string,
  used: readonly Stage[],
  store: LocalStore,
): Promise<void> {
  const modules = new Set(used.filter(({ command }) => !command).map(({ name }) => name));
  await loadBundles(root, [...modules], store);
  for (const { command } of used) if (command) commandBundle({ command, root, store });
}

/**
 * Refuses a run of which an instance that is made here takes more than there is.
 *
 * @throws {ConfigError} At the line of its stage's resources.
 */
export function requireLimits(
  { decisions, executor, platform, experiment }: Session,
  { executor: asked }: Options,
): void {
  const open = [...decisions].filter(([{ node }, { action }]) =>
    action !== "cached" && !isOnSlurm(node, asked)
  );
  const { limits } = executor;
  requireRoom(open.map(([instance]) => instance), {
    ...{ limits, platform },
    locate: experiment.locate,
  });
}

/** The keys that a numeric result has on the backends that are accepted besides. */
async function keysElsewhere(
  ingredients: Ingredients,
  { acceptPlatform }: Options,
  cached: CachedStore | undefined,
): Promise<Sha256[]> {
  const keys: Sha256[] = [];
  for (const backend of acceptPlatform) {
    const key = keyOnBackend(ingredients, backend);
    if (key === undefined) continue;
    const own = backend === "webgpu" ? await cached?.keyOnAdapter(key, backend) : key;
    if (own !== undefined) keys.push(own);
  }
  return keys;
}

/** Plans a graph or, with `--finished`, what is left of it. */
async function planGraph(
  whole: Graph,
  planInput: PlanInput,
  { finished }: Options,
): Promise<Pick<Session, "graph" | "decisions" | "leftOut">> {
  const decisions = await plan(whole, planInput);
  if (!finished) return { graph: whole, decisions, leftOut: new Map() };
  const { graph, leftOut } = onlyFinished(whole, decisions);
  return { graph, decisions: await plan(graph, planInput), leftOut };
}

/**
 * The session with the plan made from sealed traces alone. The catalogue may only say that there is
 * nothing to do: whoever runs an instance, publishes or writes a record takes this. What it counts on
 * is claimed from then on, and must be given up.
 */
export async function sealed(session: Session, options: Options): Promise<Session> {
  const { store, claims, secondsOf, name } = session;
  const find = (key: Sha256, how: { readonly whole: boolean }) => {
    claims.claim(key);
    return sealedOutputs(store, key, how);
  };
  return await claims.keep(async () => {
    // The record may have been shortened meanwhile, and is what the run's own is made from.
    const latest = readLatest(name, store);
    for (const key of Object.values(latest?.keys ?? {})) claims.claim(key);
    for (const bundle of session.bundles.values()) {
      if (!hasModules(store, bundle)) await session.keepCodeAgain();
      for (const digest of codeDigests(store, bundle)) claims.claim(digest);
    }
    const planned = await planGraph(
      session.graph,
      { ...session.planInput, outputs: find },
      options,
    );
    const expected = estimate(planned.decisions, secondsOf, session.atOnce);
    // What the catalogue took for finished, and is not, is missing besides.
    const leftOut = new Map([...planned.leftOut, ...session.leftOut]);
    const planInput: PlanInput = {
      ...session.planInput,
      outputs: (key, how) => claims.keep(() => find(key, how)),
    };
    return { ...session, ...planned, latest, planInput, leftOut, estimate: expected };
  });
}

/**
 * Opens a session, hands it over and closes its store whatever happens.
 *
 * @param o.isReading Whether the store is only read.
 * @param o.leavesUnrecorded Whether what it leaves is in no record: it stays claimed, as what a run left that
 * was interrupted.
 */
export async function withSession<T>(
  o: {
    project: Project;
    options: Options;
    print: Print;
    isReading?: boolean;
    leavesUnrecorded?: boolean;
  },
  use: (session: Session) => T | Promise<T>,
): Promise<T> {
  const { project, options, print, isReading = true } = o;
  const store = { ...reading(options, print), reading: isReading };
  const session = await openSession(project, options, store);
  try {
    return await use(session);
  } finally {
    await session.claims.close({ isInterrupted: o.leavesUnrecorded ?? false });
    session.store.close();
  }
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

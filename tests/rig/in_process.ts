/**
 * Drives a project in the test's own process: the engine as it is, but stages run here, unconfined
 * and without the time it takes to start a process.
 *
 * @module
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { finish, pagesIfUpToDate, tracePage } from "../../pipeline/cli/finish.ts";
import { parseOptions } from "../../pipeline/cli/options.ts";
import type { Project } from "../../pipeline/cli/project.ts";
import { openSession, sealed } from "../../pipeline/cli/session.ts";
import { type Memory, recall } from "../../pipeline/cli/recall.ts";
import { remember } from "../../pipeline/cli/remember.ts";
import type { Event } from "../../pipeline/event.ts";
import type { Execution, Executor, Metrics, Task } from "../../pipeline/run/executor.ts";
import { LocalExecutor } from "../../pipeline/run/executor/local.ts";
import { run } from "../../pipeline/run/run.ts";
import type { Run, StageContext } from "../../pipeline/stage.ts";
import { Pins } from "../../pipeline/store/pins.ts";

/** The project at a folder, its stages by name. */
export function projectAt(
  root: string,
  { stages, experiment }: Pick<Project, "experiment"> & { readonly stages: readonly string[] },
): Project {
  const load = (name: string) => () =>
    import(pathToFileURL(join(root, "stages", `${name}.ts`)).href);
  return {
    root,
    stages: Object.fromEntries(stages.map((name) => [name, load(name)])),
    experiment,
  };
}

/** Runs tasks in this process. */
class InProcessExecutor implements Executor {
  readonly #local = new LocalExecutor();

  platform: Executor["platform"] = (wanted) => this.#local.platform(wanted);
  readonly limits = this.#local.limits;
  examine: Executor["examine"] = (command) => this.#local.examine(command);

  async execute(task: Task, { watch, signal }: Execution): Promise<Metrics> {
    watch.platform({ deno: Deno.version.deno });
    const { run } = await import(pathToFileURL(task.module).href) as { run: Run<unknown> };
    const metrics = new Map<string, number>();
    const inputs = (name: string) =>
      task.inputs[name]!.map(({ at, sha256, path, files }) => ({
        ...{ at: task.many.includes(name) ? at : {}, sha256, path, files: new Map(files) },
      }));
    const context: StageContext<unknown> = {
      params: task.params,
      inputs,
      input: (name) => inputs(name)[0]!,
      output: (name) => task.outputs[name]!,
      get backend(): never {
        throw new TypeError("No toy stage is numeric");
      },
      mirror: undefined,
      checkpoints: task.checkpoints,
      stopping: signal,
      progress: (progress) => watch.progress(progress),
      metric: (name, value) => metrics.set(name, value),
      pin: (name, value) => watch.pin(name, value),
    };
    await run(context);
    return Object.fromEntries(metrics);
  }
}

/** What a run executed and reported. */
export interface ReproducedHere {
  readonly executed: readonly string[];
  readonly events: readonly Event[];
  /** Whether it was remembered that there is nothing to do. */
  readonly isRecalled: boolean;
}

function given(args: readonly string[]): string[] {
  return ["reproduce", "--backend", "wasm", ...args];
}

/** What is remembered of `reproduce` with some options, while it holds. */
export function recallHere(
  project: Project,
  args: readonly string[] = [],
): Promise<Memory | undefined> {
  return recall(project, given(args));
}

/**
 * `reproduce` with some options: as it is remembered, or in full.
 *
 * @param executor What runs stages.
 */
export async function reproduceHere(
  project: Project,
  args: readonly string[] = [],
  executor: Executor = new InProcessExecutor(),
): Promise<ReproducedHere> {
  const since = Date.now();
  const options = parseOptions(given(args));
  const memory = await recallHere(project, args);
  if (memory !== undefined) return { executed: [], events: memory.events, isRecalled: true };
  const events: Event[] = [];
  const listener = (event: Event) => events.push(event);
  const quick = await openSession(project, options, {
    onDamage: (path, message) => listener({ event: "damaged", path, message }),
  });
  try {
    if (await pagesIfUpToDate(project, quick, options)) {
      await tracePage(quick, { changed: false });
      await remember(quick, { project, options, events, since });
      return { executed: [], events, isRecalled: false };
    }
    const session = await sealed(quick, options);
    const outcome = await run(session.graph, session.decisions, {
      name: session.name,
      store: session.store,
      workspace: session.store,
      claims: session.claims,
      executor,
      bundles: session.bundles,
      platform: session.platform,
      planInput: session.planInput,
      jobs: 1,
      mirror: undefined,
      pins: new Pins(project.root, { keep: false }),
      secondsOf: session.secondsOf,
      locate: session.experiment.locate,
      listener,
      failFast: false,
      signal: new AbortController().signal,
    });
    const ended = { ...outcome, failedKeys: new Map() };
    await finish(session, ended, { project, options, listener });
    return { executed: named(events, "executed"), events, isRecalled: false };
  } finally {
    await quick.claims.close();
    quick.store.close();
  }
}

function named(events: readonly Event[], kind: Event["event"]): string[] {
  return events.flatMap((event) =>
    event.event === kind && "instance" in event ? [event.instance] : []
  ).sort();
}

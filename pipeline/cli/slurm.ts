/**
 * Slurm for a run: which instances are its jobs, and what becomes of these where the run ends first.
 *
 * @module
 */
import { join } from "node:path";
import type { Listener } from "../event.ts";
import type { Platform } from "../key/platform.ts";
import { NoAnswer, requireSlurm } from "../run/executor/slurm/programs.ts";
import { SlurmQueue } from "../run/executor/slurm/queue.ts";
import { requireNameable, scriptOf } from "../run/executor/slurm/script.ts";
import type { JobNeeds } from "../run/executor/slurm/settings.ts";
import { needsOf } from "../run/share.ts";
import type { Queue } from "../run/queue.ts";
import type { Instance } from "../plan/graph.ts";
import { writeAtomically } from "../store/sealed.ts";
import { makeFolder } from "../store/workspace.ts";
import type { Options } from "./options.ts";
import { isOnSlurm } from "./placement.ts";
import type { Print, Project } from "./project.ts";
import { type Session, withSession } from "./session.ts";

/** What a job of an instance asks of Slurm. */
export function jobNeedsOf(instance: Instance, platform: Platform): JobNeeds {
  const { slurm: settings, stage, resources } = instance.node;
  const { gpus, timeSeconds } = needsOf(instance, platform);
  const time = timeSeconds === undefined ? {} : { timeSeconds };
  return { resources: { ...resources, gpus, ...time }, settings, alone: stage.alone ?? false };
}

/** A run's jobs. */
export interface SlurmRun {
  readonly queueOf: (instance: Instance) => Queue | undefined;
  /** Nobody waits for jobs any more, however the run ended. */
  close(): void;
  /** Says, or asks, what becomes of the jobs that nobody waits for any more. */
  leave(o: { readonly isInterrupted: boolean }): Promise<void>;
}

/**
 * Queues a run's instances that are to be Slurm jobs.
 *
 * @throws {ConfigError} If some are to run, and Slurm cannot be used here.
 */
export async function openSlurm(
  session: Session,
  { root, options, listener }: {
    readonly root: string;
    readonly options: Options;
    readonly listener: Listener;
  },
): Promise<SlurmRun> {
  const isAnyOpen = [...session.decisions].some(([{ node }, { action }]) =>
    action !== "cached" && isOnSlurm(node, options.executor)
  );
  if (isAnyOpen) {
    requireNameable(session.store.root);
    await requireSlurm();
  }
  const queue = new SlurmQueue({
    store: session.store,
    workspace: session.store,
    facts: {
      run: session.name,
      root,
      keepPins: !options.locked && !session.experiment.modified,
      uncaged: options.uncaged,
    },
    needsOf: (instance) => jobNeedsOf(instance, session.platform),
    async onMade(key) {
      const { uploads } = session.cached ?? {};
      const trace = uploads && await session.store.trace(key);
      if (trace) uploads.add(trace);
    },
    listener,
  });
  await queue.open();
  const note = (message: string) => listener({ event: "note", message });
  return {
    queueOf: ({ node }) => isOnSlurm(node, options.executor) ? queue : undefined,
    close: () => queue.close(),
    async leave({ isInterrupted }) {
      const left = await queue.left();
      if (left.length === 0) return;
      const jobs = left.length === 1 ? "1 Slurm job" : `${left.length} Slurm jobs`;
      const canAsk = isInterrupted && !options.json && Deno.stdin.isTerminal() &&
        Deno.stdout.isTerminal();
      const answer = canAsk
        ? prompt(`${jobs} left: let them go on (Enter), or cancel them (c)?`)
        : null;
      const arrays = [...new Set(left.map(({ id }) => id.split("_")[0]!))].join(" ");
      const isOver = !isInterrupted && options.failFast;
      if (isOver || answer?.trim().toLowerCase().startsWith("c")) {
        try {
          await queue.cancel();
          return note(`${jobs} cancelled`);
        } catch (error) {
          if (!(error instanceof NoAnswer)) throw error;
          return note(`${jobs} not cancelled: ${error.message}; scancel ${arrays} cancels them`);
        }
      }
      note(
        `${jobs} left to go on; the same command waits for them, scancel ${arrays} cancels them`,
      );
    },
  };
}

/** Writes the scripts of the jobs that a run would begin with or come to, and prints where. */
export async function writeScripts(
  project: Project,
  options: Options,
  print: Print,
): Promise<void> {
  await withSession({ project, options, print }, ({ decisions, store, platform }) => {
    const open = [...decisions].filter(([{ node }, { action }]) =>
      action !== "cached" && isOnSlurm(node, options.executor)
    );
    const folder = join(store.root, "slurm", "dry-run");
    requireNameable(store.root);
    for (const [stage, instances] of Map.groupBy(open, ([{ node }]) => node.name)) {
      const [instance] = instances[0]!;
      const path = join(folder, `${stage}.sh`);
      const script = scriptOf({
        ...{ batch: "dry-run", folder, root: store.root, stage },
        ...{ count: instances.length, needs: jobNeedsOf(instance, platform) },
      });
      makeFolder(store, folder);
      writeAtomically(path, script, 0o755);
      print(options.json ? JSON.stringify({ event: "script", stage, path }) : `script    ${path}`);
    }
  });
}

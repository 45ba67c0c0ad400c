/**
 * `logs INSTANCE`: what it printed when it last ran, and with `--follow` what it goes on printing.
 *
 * @module
 */
import { LockstepError } from "../errors.ts";
import type { Instance } from "../plan/graph.ts";
import { logPath, readLog } from "../run/logs.ts";
import { statOf } from "../files.ts";
import { isLocked } from "../store/mutex.ts";
import { locksFolder } from "../store/workspace.ts";
import { readLive } from "../views/live.ts";
import { instanceOf } from "./instance.ts";
import { INTERRUPTED, interruptible } from "./interrupt.ts";
import type { Options } from "./options.ts";
import type { Print, Project } from "./project.ts";
import { type Session, withSession } from "./session.ts";

const POLL_MS = 200;

/**
 * Prints an instance's log.
 *
 * @throws {LockstepError} If it never ran.
 */
export async function showLog(project: Project, options: Options, print: Print): Promise<number> {
  return await withSession({ project, options, print }, async (session) => {
    const instance = instanceOf(session, options);
    const key = await lastKey(instance, session);
    const { root } = session.store;
    const lines = new Lines();
    const show = (isEnd: boolean) => {
      const text = lines.next(readLog(root, key) ?? "", isEnd);
      if (text === "") return;
      if (options.json) print(JSON.stringify({ event: "log", instance: instance.name, text }));
      else print(text);
    };
    if (options.follow) {
      const ended = await interruptible(async (signal) => {
        while (await isLocked(locksFolder(session.store), key)) {
          show(false);
          await new Promise((resolve) => setTimeout(resolve, POLL_MS));
          if (signal.aborted) return false;
        }
        return true;
      });
      if (!ended) return INTERRUPTED;
    }
    show(true);
    if (lines.isEmpty && !options.json) print(`${instance.name} printed nothing when it last ran`);
    return 0;
  });
}

/** Which of an instance's keys ran last. */
async function lastKey(instance: Instance, session: Session): Promise<string> {
  const { store, decisions, latest, name } = session;
  const live = (await readLive(store.root)).filter((run) => run.name === name)
    .flatMap(({ running }) => running).find((running) => running.instance === instance.name);
  if (live) return live.key;
  const decision = decisions.get(instance);
  // What was interrupted is in no record, but has this key if nothing was edited.
  const now = decision && "key" in decision ? decision.key : undefined;
  const keys = [now, latest?.failed?.[instance.name], latest?.keys[instance.name]]
    .filter((key) => key !== undefined);
  const logged = keys.map((key) => ({ key, time: statOf(logPath(store.root, key))?.mtime ?? 0 }))
    .sort((a, b) => b.time - a.time)[0];
  if (logged && (logged.time > 0 || latest?.keys[instance.name])) return logged.key;
  throw new LockstepError(
    `Cannot show a log of ${instance.name}: it has not been run here; run it with ` +
      `"deno task reproduce --only ${instance.name}"`,
  );
}

/** What a growing text has more of than before, in whole lines. */
class Lines {
  #seen = "";

  get isEmpty(): boolean {
    return this.#seen === "";
  }

  /** The lines that were added; at the end also one that is not finished. */
  next(text: string, isEnd: boolean): string {
    const whole = isEnd ? text : text.slice(0, text.lastIndexOf("\n") + 1);
    const added = whole.startsWith(this.#seen)
      ? whole.slice(this.#seen.length)
      // The middle of a long log was left out meanwhile: go on after what was shown last.
      : whole.slice(afterLast(whole, this.#seen.slice(-200)));
    this.#seen = whole;
    return added.replace(/\n$/, "");
  }
}

function afterLast(text: string, part: string): number {
  const index = text.lastIndexOf(part);
  return index < 0 ? 0 : index + part.length;
}

/**
 * How far a run got: what ended, and what was running when it was interrupted.
 *
 * @module
 */
import type { Event } from "../event.ts";
import type { Sha256 } from "../key/hash.ts";
import { statOf } from "../files.ts";
import { checkpointPath } from "../store/workspace.ts";
import type { Session } from "./session.ts";

/** Follows a run's events. */
export class Progress {
  /** Instance to key. */
  readonly #running = new Map<string, string>();
  readonly #cached = new Set<string>();
  readonly #executed = new Set<string>();
  /** Instance to the key that it failed at. */
  readonly failedKeys = new Map<string, Sha256>();

  /** How many instances ran and how many were up to date. */
  get counts(): { readonly executed: number; readonly cached: number } {
    return { executed: this.#executed.size, cached: this.#cached.size };
  }

  /** Takes note of an event. */
  take(event: Event): void {
    switch (event.event) {
      case "cached":
        this.#cached.add(event.instance);
        return;
      case "started":
        this.#cached.delete(event.instance);
        this.#running.set(event.instance, event.key);
        return;
      case "executed":
        this.#executed.add(event.instance);
        this.#running.delete(event.instance);
        return;
      case "failed":
        if (event.key !== null) this.failedKeys.set(event.instance, event.key as Sha256);
        this.#running.delete(event.instance);
        return;
      case "stopped":
        this.#running.delete(event.instance);
        return;
    }
  }

  /** What to say of a run that was interrupted: what is done and what it goes on from. */
  interrupted({ graph, store }: Session): Extract<Event, { event: "interrupted" }> {
    const done = this.#cached.size + this.#executed.size;
    const saved = graph.map(({ name }) => name).filter((name) => {
      const key = this.#running.get(name);
      return key !== undefined && statOf(checkpointPath(store, key)) !== undefined;
    });
    const checkpoints = saved.length === 0
      ? ""
      : `\n${saved.join(", ")} ${saved.length === 1 ? "goes" : "go"} on from the last checkpoint`;
    return {
      event: "interrupted",
      done,
      instances: graph.length,
      saved,
      message:
        `interrupted: ${done} of ${graph.length} done; the same command continues${checkpoints}`,
    };
  }
}

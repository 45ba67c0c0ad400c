/**
 * Places to work in, and a machine's amounts that those who work there share. Of those who wait, the
 * most urgent whose needs are there goes next; those who must be alone go when nobody else works or can
 * begin.
 *
 * Who waits does so for one amount after another, in a fixed order, and what it need not wait for any
 * more is kept for it. So what is there goes on being used by others, and nobody is overtaken for ever:
 * of the first in line, what it waits for only comes free, and what it has waited for stays.
 *
 * @module
 */
import type { Amounts } from "./share.ts";

/** How someone waits for a place. */
export interface Claim {
  /** Higher goes first, then who came first. */
  readonly urgency: number;
  /** Whether nobody else may work meanwhile. */
  readonly alone: boolean;
  /** No more than there is in all, or it waits for ever: `requireRoom` refuses it. */
  readonly needs: Amounts;
  /** Ends the wait, not the work. */
  readonly signal?: AbortSignal;
}

interface Waiting extends Claim {
  readonly needs: Shared;
  readonly order: number;
  readonly go: (adapters: readonly number[]) => void;
}

/** What is shared; everybody needs a place. */
type Shared = Amounts & { readonly places: number };

/** Scarce ones first: who waits for an adapter keeps no processor idle. */
const ORDER = ["gpus", "memoryBytes", "cpus", "places"] as const;

/** See the module's comment. */
export class Slots {
  /** Those who need not be alone first. */
  readonly #waiting: Waiting[] = [];
  readonly #free: Record<typeof ORDER[number], number>;
  /** The numbers of the adapters that nobody has. */
  readonly #adapters: number[];
  #working = 0;
  /** Whether the one who works must be alone. */
  #closed = false;
  #count = 0;

  constructor(limits: Shared) {
    this.#free = { ...limits };
    // Without a limit, as in a cluster, they have no numbers here.
    const count = Number.isFinite(limits.gpus) ? limits.gpus : 0;
    this.#adapters = Array.from({ length: count }, (_, number) => number);
  }

  /**
   * Runs `work` in a place of its own, with adapters of its own.
   *
   * @throws The signal's reason, if it was aborted before the work began.
   */
  async use<T>(claim: Claim, work: (adapters: readonly number[]) => Promise<T>): Promise<T> {
    const needs: Shared = { ...claim.needs, places: 1 };
    const adapters = await this.#wait({ ...claim, needs });
    try {
      return await work(adapters);
    } finally {
      this.#working--;
      this.#closed = false;
      for (const each of ORDER) this.#free[each] += needs[each];
      this.#adapters.push(...adapters);
      this.#adapters.sort((a, b) => a - b);
      this.#fill();
    }
  }

  async #wait(claim: Claim & { readonly needs: Shared }): Promise<readonly number[]> {
    const { signal } = claim;
    signal?.throwIfAborted();
    const { promise, resolve: go, reject } = Promise.withResolvers<readonly number[]>();
    const waiting = { ...claim, order: this.#count++, go };
    this.#waiting.push(waiting);
    this.#waiting.sort((a, b) =>
      Number(a.alone) - Number(b.alone) || b.urgency - a.urgency || a.order - b.order
    );
    const giveUp = () => {
      const at = this.#waiting.indexOf(waiting);
      if (at < 0) return;
      this.#waiting.splice(at, 1);
      reject(signal!.reason);
      // What was kept for it is for others.
      this.#fill();
    };
    signal?.addEventListener("abort", giveUp);
    this.#fill();
    return await promise.finally(() => signal?.removeEventListener("abort", giveUp));
  }

  #fill(): void {
    // What is free and kept for nobody.
    const left = { ...this.#free };
    // Without a place and a processor nobody can begin.
    for (let i = 0; !this.#closed && left.places > 0 && left.cpus > 0; i++) {
      const next = this.#waiting[i];
      if (next === undefined) return;
      if (next.alone) {
        // Whoever just ended may make others ready. They claim a place before any timer fires, and
        // go first: so all who must be alone go together, and the places are empty only once.
        if (this.#working === 0) setTimeout(() => this.#close(), 0);
        return;
      }
      // Of what it does not need it never lacks anything, though it is all kept for others.
      const lacking = ORDER.find((each) => next.needs[each] > Math.max(0, left[each]));
      for (const each of ORDER) {
        left[each] -= next.needs[each];
        if (each === lacking) break;
      }
      if (lacking !== undefined) continue;
      this.#begin(next);
      i--;
    }
  }

  /** Begins with one who must be alone, if that is possible still. */
  #close(): void {
    const next = this.#waiting[0];
    if (this.#working > 0 || !next?.alone) return;
    this.#closed = true;
    this.#begin(next);
  }

  #begin(next: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#working++;
    for (const each of ORDER) this.#free[each] -= next.needs[each];
    next.go(this.#adapters.splice(0, next.needs.gpus));
  }
}

/**
 * A fixed number of places to work in. Of those who wait, the most urgent gets the next free one;
 * those who must be alone go when nobody else works or can begin.
 *
 * @module
 */

/** How someone waits for a place. */
export interface Claim {
  /** Higher goes first, then who came first. */
  readonly urgency: number;
  /** Whether nobody else may work meanwhile. */
  readonly alone: boolean;
}

interface Waiting extends Claim {
  readonly order: number;
  readonly go: () => void;
}

/** See the module's comment. */
export class Slots {
  readonly #places: number;
  /** Those who need not be alone first. */
  readonly #waiting: Waiting[] = [];
  #working = 0;
  /** Whether the one who works must be alone. */
  #closed = false;
  #count = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Runs `work` in a place of its own. */
  async use<T>(claim: Claim, work: () => Promise<T>): Promise<T> {
    await new Promise<void>((go) => {
      this.#waiting.push({ ...claim, order: this.#count++, go });
      this.#waiting.sort((a, b) =>
        Number(a.alone) - Number(b.alone) || b.urgency - a.urgency || a.order - b.order
      );
      this.#fill();
    });
    try {
      return await work();
    } finally {
      this.#working--;
      this.#closed = false;
      this.#fill();
    }
  }

  #fill(): void {
    while (!this.#closed && this.#working < this.#places) {
      const next = this.#waiting[0];
      if (next === undefined) return;
      if (next.alone) {
        // Whoever just ended may make others ready. They claim a place before any timer fires, and
        // go first: so all who must be alone go together, and the places are empty only once.
        if (this.#working === 0) setTimeout(() => this.#close(), 0);
        return;
      }
      this.#begin(next);
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
    this.#waiting.shift();
    this.#working++;
    next.go();
  }
}

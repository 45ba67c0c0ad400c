/**
 * A fixed number of places to work in; of those who wait, the most urgent gets the next free one.
 *
 * @module
 */
export class Slots {
  #free: number;
  readonly #waiting: { urgency: number; order: number; go: () => void }[] = [];
  #count = 0;

  constructor(count: number) {
    this.#free = count;
  }

  /** Runs `work` in a place of its own. Higher urgency goes first, then who came first. */
  async use<T>(urgency: number, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) {
      this.#free--;
    } else {
      const order = this.#count++;
      await new Promise<void>((go) => {
        this.#waiting.push({ urgency, order, go });
        this.#waiting.sort((a, b) => b.urgency - a.urgency || a.order - b.order);
      });
    }
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next.go();
      else this.#free++;
    }
  }
}

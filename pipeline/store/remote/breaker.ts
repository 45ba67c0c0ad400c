/**
 * Keeps a server that can't be reached from being asked again and again.
 *
 * @module
 */

/** When it gives up, and for how long. */
export interface BreakerOptions {
  /** So many failures in a row, without one answer between them, open it. */
  readonly failures: number;
  /** How long nothing is asked then; twice as long each further time. */
  readonly restMs: number;
  /** Called the first time it opens, with why. */
  readonly onOpen: (reason: string) => void;
}

/** How often the time of rest is doubled. */
const MAX_DOUBLINGS = 4;

/** See the module's comment. */
export class Breaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  #opened = 0;
  #until = -Infinity;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  /** Whether nothing is to be asked now. */
  get isOpen(): boolean {
    return performance.now() < this.#until;
  }

  /** Takes note of an answer. */
  answered(): void {
    this.#failures = 0;
    this.#opened = 0;
  }

  /**
   * Takes note of a failure.
   *
   * @param weight How many failures it counts as.
   */
  failed(reason: string, weight = 1): void {
    const { failures, restMs, onOpen } = this.#options;
    this.#failures += weight;
    // Those that were under way when it opened say nothing new.
    if (this.#failures < failures || this.isOpen) return;
    if (this.#opened === 0 && this.#until === -Infinity) onOpen(reason);
    this.#until = performance.now() + restMs * 2 ** Math.min(this.#opened, MAX_DOUBLINGS);
    this.#opened++;
    // The next failure after the rest opens it again.
    this.#failures = failures - 1;
  }
}

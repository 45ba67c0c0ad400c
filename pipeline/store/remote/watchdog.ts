/**
 * Ends a call that takes too long: an answer must begin in time, and then go on.
 *
 * @module
 */
import { CacheTrouble, troubleOf } from "./trouble.ts";

/** In each stretch of time so much must come, unless the end does. */
const MIN_BYTES = 8 << 10;

/** See the module's comment. */
export class Watchdog {
  readonly #controller = new AbortController();
  readonly #times: { readonly answerMs: number; readonly stallMs: number };
  #timer: ReturnType<typeof setTimeout> | undefined;
  #bytes = 0;

  constructor(times: { readonly answerMs: number; readonly stallMs: number }) {
    this.#times = times;
    const message = `no answer in ${times.answerMs / 1000} s`;
    this.#timer = setTimeout(() => this.#end(message), times.answerMs);
  }

  /** Aborted where it takes too long. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The answer began, or there is something to send. */
  answered(): void {
    clearTimeout(this.#timer);
    this.#bytes = 0;
    this.#timer = setTimeout(() => {
      if (this.#bytes >= MIN_BYTES) return this.answered();
      this.#end(`fewer than ${MIN_BYTES} bytes in ${this.#times.stallMs / 1000} s`);
    }, this.#times.stallMs);
  }

  /** Some bytes went by. */
  saw(bytes: number): void {
    if (this.#bytes === 0) this.answered();
    this.#bytes += bytes;
  }

  /** All is sent: now it is for the other side to answer. */
  sent(): void {
    clearTimeout(this.#timer);
    const { answerMs, stallMs } = this.#times;
    const message = `no answer in ${(answerMs + stallMs) / 1000} s`;
    this.#timer = setTimeout(() => this.#end(message), answerMs + stallMs);
  }

  /** Pieces as they come. */
  async *watch(
    pieces: AsyncIterable<Uint8Array<ArrayBuffer>> | Iterable<Uint8Array<ArrayBuffer>>,
  ): AsyncIterable<Uint8Array<ArrayBuffer>> {
    const each = Symbol.asyncIterator in pieces
      ? pieces[Symbol.asyncIterator]()
      : pieces[Symbol.iterator]();
    try {
      for (;;) {
        const next = await Promise.resolve(each.next()).catch((error) => this.bark(error));
        if (next.done) return;
        this.#bytes += next.value.length;
        yield next.value;
      }
    } finally {
      // Whoever has read enough leaves a connection on which more would come.
      await Promise.resolve(each.return?.()).catch(() => {});
    }
  }

  /** Says what went wrong: a connection's own error, unless it failed for being ended here. */
  bark(error: unknown): never {
    throw this.signal.aborted ? this.signal.reason : troubleOf(error);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #end(message: string): void {
    this.#controller.abort(new CacheTrouble(message, "slow"));
  }
}

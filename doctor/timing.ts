/**
 * How long work takes, within a time.
 *
 * @module
 */

/** The best of two turns or more: what else a machine does only ever adds to a time. */
export async function bestSeconds(
  work: () => Promise<unknown> | unknown,
  forSeconds: number,
): Promise<number> {
  const end = performance.now() + 1000 * forSeconds;
  let best = Infinity;
  for (let turn = 0; turn < 2 || performance.now() < end; turn++) {
    const begun = performance.now();
    await work();
    best = Math.min(best, (performance.now() - begun) / 1000);
  }
  return best;
}

/** A point in time by which an examination is to end. */
export class Deadline {
  readonly #end: number;

  constructor(seconds: number) {
    this.#end = performance.now() + 1000 * seconds;
  }

  get secondsLeft(): number {
    return Math.max(0, (this.#end - performance.now()) / 1000);
  }

  get isPast(): boolean {
    return this.secondsLeft === 0;
  }
}

/** What did not end in time: a device may hang on a shader. */
export class NotInTimeError extends Error {}

/** @throws {NotInTimeError} If it does not end within some seconds; it may go on all the same. */
export async function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new NotInTimeError(`no answer within ${Math.ceil(seconds)} s`)),
      1000 * seconds,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Ctrl-C: asks for an end the first time where something is to be tidied up, and ends the process the second
 * time, or at once where nothing is.
 *
 * @module
 */

/** Exit code of an interrupted process: 128 + SIGINT. */
export const INTERRUPTED = 130;

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** How many wait for an interruption themselves. */
let waiting = 0;

/** Hands over a signal that Ctrl-C, or a request to terminate, aborts. */
export async function interruptible<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) Deno.exit(INTERRUPTED);
    controller.abort();
  };
  for (const signal of SIGNALS) Deno.addSignalListener(signal, interrupt);
  waiting++;
  try {
    return await use(controller.signal);
  } finally {
    waiting--;
    for (const signal of SIGNALS) Deno.removeSignalListener(signal, interrupt);
  }
}

/** Says at an interruption that nobody waits for that it was one, and ends the process. */
export function endWhereInterrupted(say: (message: string) => void): void {
  for (const signal of SIGNALS) {
    Deno.addSignalListener(signal, () => {
      if (waiting > 0) return;
      say("interrupted: nothing is half written; run the same command again");
      Deno.exit(INTERRUPTED);
    });
  }
}

/** Waits until a signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

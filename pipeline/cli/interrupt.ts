/**
 * Ctrl-C: asks for an end the first time, and ends the process the second time.
 *
 * @module
 */

/** Exit code of an interrupted process: 128 + SIGINT. */
export const INTERRUPTED = 130;

/** Hands over a signal that Ctrl-C, or a request to terminate, aborts. */
export async function interruptible<T>(use: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const interrupt = () => {
    if (controller.signal.aborted) Deno.exit(INTERRUPTED);
    controller.abort();
  };
  const signals = ["SIGINT", "SIGTERM"] as const;
  for (const signal of signals) Deno.addSignalListener(signal, interrupt);
  try {
    return await use(controller.signal);
  } finally {
    for (const signal of signals) Deno.removeSignalListener(signal, interrupt);
  }
}

/**
 * How long an instance may take.
 *
 * @module
 */
import { StageError } from "../errors.ts";
import type { Instance } from "../plan/graph.ts";
import type { Share } from "./share.ts";

/**
 * A run's signal, or one that an instance's own time aborts besides, which begins now.
 *
 * @param o.share What it holds.
 */
export function withinTime(
  { name, node }: Instance,
  { share, signal }: { readonly share: Share; readonly signal: AbortSignal },
): Disposable & { readonly signal: AbortSignal } {
  const { timeSeconds } = share;
  if (timeSeconds === undefined) return { signal, [Symbol.dispose]() {} };
  const over = new AbortController();
  const goesOn = node.stage.checkpoints ? "; run again, and it goes on from its last state" : "";
  const error = new StageError(
    `Cannot finish ${name}: it may take no longer than the time of its stage's resources, ` +
      `${timeSeconds} s${goesOn}`,
  );
  const timer = setTimeout(() => over.abort(error), timeSeconds * 1000);
  return {
    signal: AbortSignal.any([signal, over.signal]),
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

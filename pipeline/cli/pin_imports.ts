/**
 * What an experiment names and its keys need to know, such as the files of a data set, is looked up before
 * a run and pinned.
 *
 * @module
 */
import { join } from "node:path";
import { ConfigError, UnpinnedError } from "../errors.ts";
import { readText } from "../files.ts";
import { Pins, PINS_FILE } from "../store/pins.ts";
import { aborted } from "./interrupt.ts";
import type { Options } from "./options.ts";

/**
 * Opens something, looking up and pinning what it lacks.
 *
 * @param o.onPinned Is given a sentence for each that was pinned.
 * @returns What was opened; `undefined` if the signal ended the looking up.
 * @throws {ConfigError} If something is not pinned, and this run pins nothing.
 */
export async function withImports<T>(
  open: () => Promise<T>,
  { root, options, signal, onPinned }: {
    readonly root: string;
    readonly options: Pick<Options, "locked" | "set">;
    readonly signal: AbortSignal;
    readonly onPinned: (message: string) => void;
  },
): Promise<T | undefined> {
  const read = () => readText(join(root, PINS_FILE));
  for (;;) {
    const before = read();
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof UnpinnedError)) throw error;
      if (options.locked || options.set.length > 0) {
        throw new ConfigError(
          `${error.message}; a run with --locked or --set pins nothing, so run once without`,
        );
      }
      const found = await Promise.race([error.look(), aborted(signal)]);
      if (found === undefined) return undefined;
      try {
        const fresh = new Pins(root, { keep: true }).add(found);
        if (fresh.length === 0) throw error;
        onPinned(
          `${error.subject} is pinned now, ${fresh.length} lines; review ${PINS_FILE} with git diff`,
        );
      } catch (failed) {
        // What another run pinned meanwhile counts, even if this one found something else.
        if (read() === before) throw failed;
      }
    }
  }
}

/**
 * What an experiment names and its keys need to know, such as the files of a data set, is looked up before
 * a run and pinned.
 *
 * @module
 */
import { ConfigError, UnpinnedError } from "../errors.ts";
import { Pins, PINS_FILE } from "../store/pins.ts";
import type { Options } from "./options.ts";

/**
 * Opens something, looking up and pinning what it lacks.
 *
 * @param o.onPinned Is given a sentence for each that was pinned.
 * @throws {ConfigError} If something is not pinned, and this run pins nothing.
 */
export async function withImports<T>(
  open: () => Promise<T>,
  { root, options, onPinned }: {
    readonly root: string;
    readonly options: Options;
    readonly onPinned: (message: string) => void;
  },
): Promise<T> {
  for (;;) {
    try {
      return await open();
    } catch (error) {
      if (!(error instanceof UnpinnedError)) throw error;
      if (options.locked || options.set.length > 0) {
        throw new ConfigError(
          `${error.message}; a run with --locked or --set pins nothing, so run once without`,
        );
      }
      const fresh = new Pins(root, { keep: true }).add(await error.look());
      if (fresh.length === 0) throw error;
      onPinned(
        `${error.subject} is pinned now, ${fresh.length} lines; review ${PINS_FILE} with git diff`,
      );
    }
  }
}

/** @module */
import { MemoryError } from "../../models/memory_error.ts";
import { StageError } from "../../pipeline/errors.ts";

/**
 * A stage's `run` that says what to change where memory does not suffice.
 *
 * @param one What takes memory at least: the params that fix its length.
 * @throws {StageError} In place of a {@linkcode MemoryError}.
 */
export function withinMemory<C extends { readonly params: { readonly chunk_tokens: number } }>(
  run: (context: C) => Promise<void>,
  one: string,
): (context: C) => Promise<void> {
  return async (context) => {
    try {
      await run(context);
    } catch (error) {
      if (!(error instanceof MemoryError)) throw error;
      throw new StageError(
        `${error.message}; lower chunk_tokens, found ${context.params.chunk_tokens}, or, if ${one}`,
        { cause: error },
      );
    }
  };
}

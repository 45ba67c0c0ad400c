/**
 * Standard output, written whole and at once, and what happens when nobody reads it any more.
 *
 * @module
 */
import { columns } from "./layout.ts";

/** Where a view writes. */
export interface Sink {
  write(text: string): void;
  /** Whether lines can be overwritten. */
  readonly isTerminal: boolean;
  readonly columns: () => number;
}

/** Exit code of a process that a closed pipe ends: 128 + SIGPIPE. */
const BROKEN_PIPE = 141;

/** Standard output. */
export function standardOutput(): Sink {
  const encoder = new TextEncoder();
  return {
    isTerminal: Deno.stdout.isTerminal() && Deno.env.get("TERM") !== "dumb",
    columns,
    write(text) {
      const bytes = encoder.encode(text);
      try {
        for (let done = 0; done < bytes.length;) {
          done += Deno.stdout.writeSync(bytes.subarray(done));
        }
      } catch (error) {
        // Whoever read this has seen enough, as `head` does.
        if (error instanceof Deno.errors.BrokenPipe) Deno.exit(BROKEN_PIPE);
        throw error;
      }
    },
  };
}

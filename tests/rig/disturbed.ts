/**
 * Commands to which something happens at random moments: after so many of the things that they do to files
 * or ask of a server.
 *
 * @module
 */
import type { CacheServer } from "./cache_server.ts";
import type { TestProject } from "./project.ts";

/** How a command ended to which something happened. */
export interface Disturbed {
  readonly code: number;
  readonly signal: Deno.Signal | null;
  readonly stdout: string;
  readonly stderr: string;
  /** How much of what it did was seen. */
  readonly deeds: number;
}

/**
 * Starts a command, and acts once after it has done something for so many times, unless it ends before.
 * What is seen lags behind what is done by some milliseconds, and by others each time.
 */
export async function actAfter(
  deeds: number,
  act: (child: Deno.ChildProcess) => void,
  { args, project, server }: {
    readonly args: readonly string[];
    readonly project: TestProject;
    readonly server?: CacheServer | undefined;
  },
): Promise<Disturbed> {
  let seen = 0;
  using files = Deno.watchFs(project.root);
  const child = project.start(args);
  const count = () => {
    if (++seen === deeds) act(child);
  };
  if (server) {
    server.misbehave = () => {
      count();
      return undefined;
    };
  }
  const watching = (async () => {
    for await (const _ of files) count();
  })();
  const { code, signal, stdout, stderr } = await child.output();
  if (server) server.misbehave = () => undefined;
  files.close();
  await watching;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, signal, stdout: text(stdout), stderr: text(stderr), deeds: seen };
}

/** Sends a signal to a process, unless it has ended. */
export function signalling(signal: Deno.Signal): (child: Deno.ChildProcess) => void {
  return (child) => {
    try {
      child.kill(signal);
    } catch { /* it has ended */ }
  };
}

/**
 * Numbers from 0 to 1 that are spread evenly, in an order that looks random, and the same in each test run
 * (the golden ratio's multiples).
 */
export function* spread(): Generator<number, never> {
  for (let n = 1;; n++) yield (n * 0.6180339887498949) % 1;
}

/** How often something is tried: `usual` times, unless a variable says how often. */
export function times(variable: string, usual: number): number {
  const asked = Number(Deno.env.get(variable) ?? usual);
  if (Number.isInteger(asked) && asked > 0) return asked;
  throw new Error(`${variable} must be a count, found ${JSON.stringify(Deno.env.get(variable))}`);
}

/**
 * What processes that compute on the processor ask of V8, so that WebAssembly runs as fast as it can.
 *
 * @module
 */
import type { Backend } from "../../stage.ts";

/**
 * Two vectors of 128 bits that lie side by side become one of 256 where the processor has these. That is
 * done lane by lane, so that no bit changes. It takes that loads and stores need no comparison with the
 * memory's size, which Deno, other than browsers, has V8 make: without, an address past the end ends the
 * process instead of raising an error, since the 4 GiB that 32 bits can address are reserved for each memory
 * that may grow so far.
 */
export const WIDE_VECTORS: readonly string[] = [
  "--no-wasm-bounds-checks",
  "--experimental-wasm-revectorize",
];

let taken: Promise<readonly string[]> | undefined;

/** The arguments of Deno for a task that computes on `backend`; none if this Deno does not know them. */
export async function compilerArguments(backend: Backend | undefined): Promise<readonly string[]> {
  if (backend !== "wasm" && backend !== "wasm+fma") return [];
  return await (taken ??= known(WIDE_VECTORS));
}

/** The flags as an argument of Deno, if it takes them: another one it does not start with. */
export async function known(flags: readonly string[]): Promise<readonly string[]> {
  const flag = `--v8-flags=${flags.join(",")}`;
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-config", "--no-npm", "--no-remote", flag, "0"],
    stdout: "null",
    stderr: "null",
  }).output();
  return success ? [flag] : [];
}

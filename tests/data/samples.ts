/**
 * Finds the folder of real sample data, which is not part of the project.
 *
 * @module
 */
import { fileURLToPath } from "node:url";

/**
 * The folder that the environment variable LOCKSTEP_SAMPLES names, by default `../shared/data`
 * beside the project; `undefined`, with a warning, where it is missing.
 */
export function samplesFolder(): string | undefined {
  const folder = Deno.env.get("LOCKSTEP_SAMPLES") ??
    fileURLToPath(new URL("../../../shared/data", import.meta.url));
  try {
    if (Deno.statSync(folder).isDirectory) return folder;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  console.warn(`SKIPPED: no sample data in "${folder}"; set LOCKSTEP_SAMPLES to their folder`);
  return undefined;
}

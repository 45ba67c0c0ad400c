/**
 * Files that a command leaves where its user said.
 *
 * @module
 */
import { basename, dirname, join } from "node:path";
import { lookAt } from "../files.ts";

/** Has a file written beside its place and then put there, so that there is never half of it. */
export async function putFile<T>(
  path: string,
  write: (beside: string) => T | Promise<T>,
): Promise<T> {
  Deno.mkdirSync(dirname(path), { recursive: true });
  const beside = join(dirname(path), `.${basename(path)}.${crypto.randomUUID()}`);
  try {
    const written = await write(beside);
    Deno.renameSync(beside, path);
    return written;
  } catch (error) {
    if (lookAt(beside)) Deno.removeSync(beside);
    throw error;
  }
}

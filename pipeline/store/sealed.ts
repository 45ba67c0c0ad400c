/**
 * Sealed text files: a JSON body followed by its digest, written whole or not at all. Any altered
 * byte is noticed when the file is read.
 *
 * @module
 */
import { dirname } from "node:path";
import { sha256 } from "../key/hash.ts";
import { LockstepError } from "../errors.ts";

/** A sealed file's content does not match its digest. */
export class SealError extends LockstepError {
  override name = "SealError";
}

/** The text of a sealed file that holds `value`. */
export function seal(value: unknown): string {
  const body = JSON.stringify(value, null, 1);
  return `${body}\nsha256 ${sha256(body)}\n`;
}

/**
 * The value in a sealed text.
 *
 * @throws {SealError} If any byte differs from what `seal` wrote.
 */
export function unseal(text: string, path: string): unknown {
  const end = text.lastIndexOf("\nsha256 ");
  const body = text.slice(0, Math.max(end, 0));
  if (end < 0 || text !== `${body}\nsha256 ${sha256(body)}\n`) {
    throw new SealError(
      `Cannot trust ${path}: its content must match the digest in its last line, and does not`,
    );
  }
  return JSON.parse(body);
}

/** Writes a file so that it is either absent, as before, or complete, also after a power cut. */
export function writeAtomically(
  path: string,
  content: string | Uint8Array<ArrayBuffer>,
  mode = 0o644,
): void {
  const scratch = `${path}.${Deno.pid}.tmp`;
  try {
    using file = Deno.openSync(scratch, { write: true, create: true, truncate: true, mode });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
    file.syncSync();
    Deno.renameSync(scratch, path);
  } catch (error) {
    try {
      Deno.removeSync(scratch);
    } catch { /* it was never made */ }
    throw error;
  }
  syncFolder(dirname(path));
}

/**
 * The value in a sealed file; `undefined` if there is none, or if it is damaged, which is handed to
 * `onDamage`.
 */
export function readSealed(
  path: string,
  onDamage: (path: string, message: string) => void,
): unknown {
  let text: string;
  try {
    text = Deno.readTextFileSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
  try {
    return unseal(text, path);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    onDamage(path, error.message);
    return undefined;
  }
}

/** Writes a sealed file, unless it holds the same already. Returns whether it wrote. */
export function writeSealed(path: string, value: unknown): boolean {
  const text = seal(value);
  try {
    if (Deno.readTextFileSync(path) === text) return false;
  } catch { /* there is none yet */ }
  writeAtomically(path, text);
  return true;
}

/** Makes renames in a folder durable. */
export function syncFolder(path: string): void {
  using folder = Deno.openSync(path);
  folder.syncSync();
}

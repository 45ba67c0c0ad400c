/**
 * Sealed text files: a JSON body followed by its digest, written whole or not at all. Any altered
 * byte is noticed when the file is read.
 *
 * @module
 */
import { dirname } from "node:path";
import { sha256 } from "../key/hash.ts";
import { LockstepError, refusal } from "../errors.ts";
import { readText } from "../files.ts";

/** A sealed file's content does not match its digest. */
export class SealError extends LockstepError {
  override name = "SealError";
}

/** The text of a sealed file that holds `value`; an `indent` of 0 is for what nobody reads. */
export function seal(value: unknown, { indent = 1 } = {}): string {
  const body = JSON.stringify(value, null, indent);
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
  try {
    return JSON.parse(body);
  } catch {
    throw new SealError(`Cannot trust ${path}: it must hold JSON, and does not`);
  }
}

/** Writes a file so that it is either absent, as before, or complete, also after a power cut. */
export function writeAtomically(
  path: string,
  content: string | Uint8Array<ArrayBuffer>,
  mode = 0o644,
): void {
  // Random: process ids coincide where machines or containers share a store.
  const scratch = `${path}.${crypto.getRandomValues(new Uint32Array(1))[0]}.tmp`;
  try {
    using file = Deno.openSync(scratch, { write: true, createNew: true, mode });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    for (let done = 0; done < bytes.length;) done += file.writeSync(bytes.subarray(done));
    file.syncSync();
    Deno.renameSync(scratch, path);
  } catch (error) {
    try {
      Deno.removeSync(scratch);
    } catch { /* it was never made */ }
    throw namingPath(error, path);
  }
  syncFolder(dirname(path));
}

/**
 * The value in a sealed file; `undefined` if there is none, or if it is damaged or holds something
 * else, which is handed to `onDamage`.
 *
 * @param options.parse The value as what it should be; `undefined` if it is something else.
 */
export function readSealed<T>(
  path: string,
  { parse, onDamage }: {
    readonly parse: (value: unknown) => T | undefined;
    readonly onDamage: (path: string, message: string) => void;
  },
): T | undefined {
  try {
    const text = readText(path);
    if (text === undefined) return undefined;
    const value = parse(unseal(text, path));
    if (value === undefined) onDamage(path, `Cannot trust ${path}: it holds something else`);
    return value;
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
    onDamage(path, error.message);
    return undefined;
  }
}

/** Writes a sealed file, unless it holds the same already. Returns whether it wrote. */
export function writeSealed(path: string, value: unknown): boolean {
  const text = seal(value);
  try {
    if (readText(path) === text) return false;
  } catch (error) {
    if (!(error instanceof LockstepError)) throw error;
  }
  writeAtomically(path, text);
  return true;
}

/** An error with the path that was written: of a full device the system says neither which nor for what. */
export function namingPath(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || refusal(error.message) !== "full") return error;
  return error.message.includes(path)
    ? error
    : new Error(`${error.message}: write '${path}'`, { cause: error });
}

/** Makes renames in a folder durable. */
export function syncFolder(path: string): void {
  using folder = Deno.openSync(path);
  folder.syncSync();
}

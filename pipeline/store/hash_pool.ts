/**
 * Digests of many files, on all cores where there is enough to hash.
 *
 * @module
 */
import { hashFile, type Sha256 } from "../key/hash.ts";

/** Below this many bytes, starting workers takes longer than it saves. */
const WORTH_WORKERS_BYTES = 64 << 20;

/** The digest of each file; an error message where one can't be read. */
export async function hashFiles(
  files: readonly { readonly path: string; readonly bytes: number }[],
): Promise<Map<string, Sha256 | Error>> {
  const digests = new Map<string, Sha256 | Error>();
  const total = files.reduce((sum, file) => sum + file.bytes, 0);
  const count = Math.min(navigator.hardwareConcurrency, files.length);
  if (total < WORTH_WORKERS_BYTES || count < 2) {
    for (const { path } of files) digests.set(path, attempt(path));
    return digests;
  }
  // The largest first, so that no worker is left with a long one at the end.
  const queue = files.toSorted((a, b) => b.bytes - a.bytes).map(({ path }) => path);
  await Promise.all(Array.from({ length: count }, () =>
    new Promise<void>((resolve, reject) => {
      const url = new URL("./hash_worker.ts", import.meta.url);
      const worker = new Worker(url, { type: "module" });
      const next = () => {
        const path = queue.shift();
        if (path !== undefined) return worker.postMessage(path);
        worker.terminate();
        resolve();
      };
      worker.onmessage = ({ data }) => {
        digests.set(data.path, data.digest ?? new Error(data.error));
        next();
      };
      worker.onerror = (event) => {
        worker.terminate();
        reject(new Error(event.message));
      };
      next();
    })));
  return digests;
}

function attempt(path: string): Sha256 | Error {
  try {
    return hashFile(path);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

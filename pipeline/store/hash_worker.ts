/**
 * A worker that hashes files: receives paths, answers with digests.
 *
 * @module
 */
/// <reference lib="deno.worker" />
import { hashFile } from "../key/hash.ts";

self.onmessage = ({ data: path }: MessageEvent<string>) => {
  try {
    self.postMessage({ path, digest: hashFile(path) });
  } catch (error) {
    self.postMessage({ path, error: error instanceof Error ? error.message : String(error) });
  }
};

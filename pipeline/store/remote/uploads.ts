/**
 * Puts results into a shared cache while a run goes on: the blobs that a trace names, then the trace.
 *
 * @module
 */
import type { Sha256 } from "../../key/hash.ts";
import { lookAt } from "../../files.ts";
import type { LocalStore } from "../local_store.ts";
import { namedBy, type Trace } from "../trace.ts";
import type { RemoteCache } from "./cache.ts";

/** See the module's comment. */
export class Uploads {
  readonly #store: LocalStore;
  readonly #cache: RemoteCache;
  /** Blobs on their way or there. */
  readonly #blobs = new Map<Sha256, Promise<boolean>>();
  #pending: Promise<unknown>[] = [];
  /** Traces that were put there, that were there, and that could not be put. */
  readonly counts = { put: 0, there: 0, failed: 0 };
  /** Of the blobs that were put. */
  bytes = 0;

  constructor(store: LocalStore, cache: RemoteCache) {
    this.#store = store;
    this.#cache = cache;
  }

  /** Begins to put a trace and what it names. */
  add(trace: Trace): void {
    this.#pending.push(this.#upload(trace).then((how) => this.counts[how]++));
  }

  /** Ends when all that was begun has ended. */
  async settle(): Promise<void> {
    while (this.#pending.length > 0) await Promise.all(this.#pending.splice(0));
  }

  async #upload(trace: Trace): Promise<keyof Uploads["counts"]> {
    const digests = await this.#digestsOf(trace);
    if (digests === undefined) return "failed";
    const put = await Promise.all(digests.map((digest) => this.#uploadBlob(digest)));
    return put.every((each) => each) ? await this.#cache.putTrace(trace) : "failed";
  }

  /** All blobs that a trace names; `undefined` if one is not here. */
  async #digestsOf(trace: Trace): Promise<Sha256[] | undefined> {
    const digests: Sha256[] = [];
    for (const named of namedBy(trace)) {
      if (await this.#store.checkOutput(named) !== "ok") return undefined;
      digests.push(named.sha256);
      if (named.kind === "file") continue;
      const files = Object.values(await this.#store.manifest(named.sha256) ?? {});
      digests.push(...files.map(({ sha256 }) => sha256));
    }
    return [...new Set(digests)];
  }

  #uploadBlob(digest: Sha256): Promise<boolean> {
    let put = this.#blobs.get(digest);
    if (!put) this.#blobs.set(digest, put = this.#putBlob(digest));
    return put;
  }

  async #putBlob(digest: Sha256): Promise<boolean> {
    const path = this.#store.blobPath(digest);
    const bytes = lookAt(path)?.stat.size;
    if (bytes === undefined) return false;
    const how = await this.#cache.putBlob({ sha256: digest, bytes }, path);
    if (how === "put") this.bytes += bytes;
    return how !== "failed";
  }
}

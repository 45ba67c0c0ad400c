/**
 * A store with a shared cache behind it. A key that is not here is looked up there, and its trace is
 * enough to go on: an artifact is fetched once somebody is to read it. With a cache that can't be reached
 * it is a store like any other.
 *
 * @module
 */
import { join } from "node:path";
import type { BlobState, FoundOutputs, PutTrace } from "../artifact_store.ts";
import type { Sha256 } from "../../key/hash.ts";
import type { Backend } from "../../stage.ts";
import { lookAt } from "../../files.ts";
import { LocalStore, type StoreOptions } from "../local_store.ts";
import { isHeld, tryLock } from "../mutex.ts";
import { holdOffRemoval } from "../removal_lock.ts";
import type { Named, Trace } from "../trace.ts";
import { locksFolder, makeFolder } from "../workspace.ts";
import { type FoundTrace, RemoteCache } from "./cache.ts";
import type { Wanted } from "./download.ts";
import { Uploads } from "./uploads.ts";

/** What a store takes besides what every store does. */
export interface CachedStoreOptions extends StoreOptions {
  readonly cache: RemoteCache;
  /** Whether results are put there. */
  readonly push?: boolean;
}

/** What came from a cache, and what went there. */
export interface Traffic {
  /** Keys whose traces came from there. */
  traces: number;
  /** Blobs that were fetched. */
  blobs: number;
  bytes: number;
}

const LOCK_POLL_MS = 50;

/** See the module's comment. */
export class CachedStore extends LocalStore {
  readonly cache: RemoteCache;
  readonly traffic: Traffic = { traces: 0, blobs: 0, bytes: 0 };
  readonly uploads: Uploads | undefined;
  /** Keys that the cache could not be asked for. */
  readonly unasked = new Set<Sha256>();
  readonly #isReading: boolean;
  /** What the cache was asked for. */
  readonly #asked = new Map<string, Promise<FoundTrace>>();
  readonly #fetched = new Map<Sha256, Promise<boolean>>();

  constructor(root: string, { cache, push = false, ...options }: CachedStoreOptions) {
    super(root, options);
    this.cache = cache;
    this.#isReading = options.reading ?? false;
    if (push) this.uploads = new Uploads(this, cache);
  }

  override async outputs(key: Sha256): Promise<FoundOutputs> {
    // An index does not know whose results they are.
    if (this.cache.signatures.check && !await this.trace(key)) return "absent";
    const found = await super.outputs(key);
    return found === "absent" ? (await this.trace(key))?.outputs ?? "absent" : found;
  }

  override async trace(key: Sha256): Promise<Trace | undefined> {
    const own = await super.trace(key);
    if (!own?.received || this.cache.signatures.isTrusted(own.received.signedBy)) {
      return own ?? await this.#receive(key);
    }
    // It was taken when no signature was asked for, or another's.
    this.setAsideTrace(
      key,
      `the trace of ${own.instance} came from a cache, and no trusted key signed it`,
    );
    return await this.#receive(key);
  }

  /** The key of what the cache has of a result on some adapter of a backend. */
  async keyOnAdapter(key: Sha256, backend: Backend): Promise<Sha256 | undefined> {
    return (await this.#receive(key, backend))?.key;
  }

  async #receive(key: Sha256, onBackend?: Backend): Promise<Trace | undefined> {
    const question = onBackend === undefined ? key : `${key} on ${onBackend}`;
    let asked = this.#asked.get(question);
    if (!asked) this.#asked.set(question, asked = this.cache.trace(key, onBackend));
    const found = await asked;
    // What could not be asked is asked again.
    if (found === "unknown") {
      this.#asked.delete(question);
      this.unasked.add(key);
    } else this.unasked.delete(key);
    if (typeof found === "string") return undefined;
    if (this.#isReading) {
      // From then on it is found under its own key too.
      this.#asked.set(found.key, asked);
      return found;
    }
    const own = await super.trace(found.key);
    if (own) return own;
    // What is half written is not to be taken for what a killed process left.
    const held = await holdOffRemoval(this);
    try {
      this.keepReceived(found);
    } finally {
      held.release();
    }
    this.traffic.traces++;
    return await super.trace(found.key);
  }

  override async putTrace(trace: Trace): Promise<PutTrace> {
    const put = await super.putTrace(trace);
    if (put.unlike.length === 0) this.uploads?.add(trace);
    return put;
  }

  override async checkOutput(output: Named): Promise<BlobState> {
    const state = await super.checkOutput(output);
    return state === "ok" || !await this.#fetchOutput(output)
      ? state
      : await super.checkOutput(output);
  }

  override async verifyOutput(output: Named): Promise<BlobState> {
    const state = await super.verifyOutput(output);
    if (state === "ok" || !await this.#fetchOutput(output)) return state;
    return await super.verifyOutput(output);
  }

  /** Fetches what is missing of an output. Returns whether all of it could be had. */
  async #fetchOutput({ kind, sha256, bytes }: Named): Promise<boolean> {
    if (this.#isReading) return false;
    if (kind === "file") return await this.#fetch({ sha256, bytes });
    if (!await this.#fetch({ sha256, bytes: undefined })) return false;
    const files = Object.values(await this.manifest(sha256) ?? {});
    const fetched = await Promise.all(files.map((file) => this.#fetch(file)));
    return fetched.every((each) => each);
  }

  async #fetch(wanted: Wanted): Promise<boolean> {
    if (await this.check(wanted.sha256) === "ok") return true;
    let fetched = this.#fetched.get(wanted.sha256);
    if (!fetched) {
      fetched = this.#fetchOnce(wanted).finally(() => this.#fetched.delete(wanted.sha256));
      this.#fetched.set(wanted.sha256, fetched);
    }
    return await fetched;
  }

  /** Fetches a blob, unless another process does meanwhile. */
  async #fetchOnce(wanted: Wanted): Promise<boolean> {
    const { sha256 } = wanted;
    for (;;) {
      const lock = await tryLock(locksFolder(this), `incoming-${sha256}`);
      if (!isHeld(lock)) {
        await new Promise((resolve) => setTimeout(resolve, LOCK_POLL_MS));
        continue;
      }
      try {
        if (await this.check(sha256) === "ok") return true;
        const path = this.#incomingPath(sha256);
        if (!await this.cache.fetchBlob(wanted, path)) {
          if (lookAt(path)?.stat.size === 0) Deno.removeSync(path);
          return false;
        }
        const { bytes } = await this.putFile(path, sha256);
        this.traffic.blobs++;
        this.traffic.bytes += bytes;
        return true;
      } finally {
        lock.release();
      }
    }
  }

  #incomingPath(digest: Sha256): string {
    const folder = join(this.root, "incoming");
    makeFolder(this, folder);
    const path = join(folder, digest);
    const found = lookAt(path);
    if (found && found.kind !== "a file") {
      this.setAside(path, `must be a file, found ${found.kind}`);
    }
    return path;
  }
}

/**
 * The shared cache of a command: opened as its options say, and what there is to say of it.
 *
 * @module
 */
import { resolve } from "node:path";
import { counted, megabytes } from "../amounts.ts";
import { UsageError } from "../errors.ts";
import type { RemoteCache } from "../store/remote/cache.ts";
import type { CachedStore } from "../store/remote/cached_store.ts";
import { LocalStore, type StoreOptions } from "../store/local_store.ts";
import { aborted } from "./interrupt.ts";
import type { Options } from "./options.ts";

/** How a store is opened, and who hears of what its cache does. */
export interface OpenOptions extends StoreOptions {
  readonly onNote?: (message: string) => void;
}

/** Opens a store, with a cache behind it where one is named. */
export async function openStoreWithCache(
  root: string,
  options: Options,
  storeOptions: OpenOptions,
): Promise<{ readonly store: LocalStore; readonly cached?: CachedStore }> {
  if (options.cache === undefined) return { store: new LocalStore(root, storeOptions) };
  const { CachedStore } = await import("../store/remote/cached_store.ts");
  const cache = await openCache(options, storeOptions);
  const cached = new CachedStore(root, { ...storeOptions, cache, push: options.push });
  return { store: cached, cached };
}

/**
 * The cache that options name.
 *
 * @throws {UsageError} If they name none.
 * @throws {ConfigError} If a key can't be read.
 */
export async function openCache(
  { command, cache, key, trusted, push }: Options,
  { onDamage = () => {}, onNote = () => {} }: OpenOptions,
): Promise<RemoteCache> {
  if (cache === undefined) {
    throw new UsageError(`Cannot ${command}: it needs --cache URL, or LOCKSTEP_CACHE`);
  }
  const { RemoteCache } = await import("../store/remote/cache.ts");
  const { openRemote } = await import("../store/remote/remote.ts");
  const { parseAddress } = await import("../store/remote/address.ts");
  const { readPublicKey, readSigningKey } = await import("../provenance/keys.ts");
  const { signaturesBy } = await import("../provenance/signed_traces.ts");
  const signatures = signaturesBy({
    ...(key === undefined || command !== "push" && !push
      ? {}
      : { key: await readSigningKey(resolve(key)) }),
    ...(trusted.length === 0
      ? {}
      : { trusted: await Promise.all(trusted.map((path) => readPublicKey(resolve(path)))) }),
  });
  const remote = await openRemote(parseAddress(cache));
  const onRefused = (url: string, message: string) => onDamage(url, `refused: ${message}`);
  return new RemoteCache(remote, { onNote, onRefused }, { signatures });
}

/** Waits for what is on its way to the cache, and says what came and went; nothing if nothing did. */
export async function settleCache(
  { cache, traffic, uploads }: CachedStore,
  signal: AbortSignal,
): Promise<string | undefined> {
  await Promise.race([uploads?.settle(), aborted(signal)]);
  const parts: string[] = [];
  const { traces, blobs, bytes } = traffic;
  if (traces + blobs > 0) {
    parts.push(
      `${counted(traces, "result")} came from it, ${counted(blobs, "file")} fetched (${
        megabytes(bytes)
      })`,
    );
  }
  const { put = 0, failed = 0 } = uploads?.counts ?? {};
  if (put > 0) parts.push(`${counted(put, "result")} put there (${megabytes(uploads!.bytes)})`);
  if (failed > 0) {
    parts.push(`${counted(failed, "result")} could not be put there; "push" tries again`);
  }
  return parts.length === 0 ? undefined : `cache ${cache.name}: ${parts.join("; ")}`;
}
